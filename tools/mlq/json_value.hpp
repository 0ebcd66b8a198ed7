// SPDX-License-Identifier: GPL-2.0-or-later
// Members of mlqd's answers that may be absent, read and shown again.
#pragma once

#include <optional>
#include <string>

#include "core/wire/wire.hpp"

namespace mlq::cli {

using Number = std::optional<double>;  ///< absent: not known

/// Nothing for what is no finite number.
Number number(const json_t* value);
Number number(const json_t* object, const char* name);
/// "" for what is no text.
std::string text(const json_t* object, const char* name);

/// Whole numbers as the integers they are; null when absent or not finite.
json_t* number_json(const Number& value);
/// null for "".
json_t* text_json(const std::string& value);

}  // namespace mlq::cli
