// SPDX-License-Identifier: GPL-2.0-or-later
// Owning handle for jansson values, and the checks that every message of doc/protocol.md needs.
#pragma once

#include <jansson.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mlq::wire {

struct JsonDeleter {
  void operator()(json_t* value) const noexcept { json_decref(value); }
};

/// Owns one reference. `Json(json_object())`; hand over to jansson's *_new functions with release().
using Json = std::unique_ptr<json_t, JsonDeleter>;

inline constexpr int kVersion = 1;
inline constexpr std::size_t kClusterMax = 63;  ///< bytes of a cluster's name

/// An object, or nullptr with where and why the text is no JSON object.
Json parse_object(std::string_view text, std::string& error);

/// What jansson found wrong with a text, for messages: printable ASCII, at most JSON_ERROR_TEXT_LENGTH bytes.
std::string reason(const json_error_t& error);

/// Compact text, "" when memory is out.
std::string to_text(const json_t* value);

/// What a value is, for messages: `a string`, `null`, `the number 7`. Never longer than 60 bytes.
std::string describe(const json_t* value);

/// `v` must be there and 1.
bool check_version(const json_t* object, std::string& error);

/// Integer in [low, high]; nothing, with a message that names `where`.`name`, when it is missing or another
/// thing.
std::optional<std::int64_t> get_integer(const json_t* object, const char* name, std::int64_t low,
                                        std::int64_t high, const std::string& where, std::string& error);

/// Graphic ASCII without quote and backslash, 1 to kClusterMax bytes.
bool valid_cluster(std::string_view name) noexcept;

}  // namespace mlq::wire
