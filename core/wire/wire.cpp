// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/wire/wire.hpp"

#include <cstdio>
#include <cstdlib>

namespace mlq::wire {

Json parse_object(std::string_view text, std::string& error) {
  json_error_t details;
  Json value(json_loadb(text.data(), text.size(), 0, &details));
  if (!value) {
    error = "body is not JSON: line " + std::to_string(details.line) + ", column " +
            std::to_string(details.column) + ": " + reason(details);
    return nullptr;
  }
  if (!json_is_object(value.get())) {
    error = "body is " + describe(value.get()) + ", a JSON object is needed";
    return nullptr;
  }
  return value;
}

std::string reason(const json_error_t& error) {
  std::string text(error.text);  // jansson quotes the input and cuts the quotation anywhere
  for (char& c : text)
    if (c < ' ' || c >= 0x7f) c = '?';
  return text;
}

std::string to_text(const json_t* value) {
  std::string text;
  const auto append = [](const char* data, std::size_t size, void* out) {
    static_cast<std::string*>(out)->append(data, size);
    return 0;
  };
  // 16 digits keep a double within half a unit in the last place and losses readable
  if (json_dump_callback(value, append, &text, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(16)) != 0)
    text.clear();
  return text;
}

std::string describe(const json_t* value) {
  if (!value) return "missing";
  char buffer[61];
  switch (json_typeof(value)) {
    case JSON_OBJECT:
      return "an object";
    case JSON_ARRAY:
      return "an array";
    case JSON_STRING:
      return "a string";
    case JSON_TRUE:
      return "true";
    case JSON_FALSE:
      return "false";
    case JSON_NULL:
      return "null";
    case JSON_INTEGER:
      std::snprintf(buffer, sizeof buffer, "the number %lld",
                    static_cast<long long>(json_integer_value(value)));
      return buffer;
    case JSON_REAL:
      std::snprintf(buffer, sizeof buffer, "the number %.9g", json_real_value(value));
      return buffer;
  }
  return "unknown";
}

bool check_version(const json_t* object, std::string& error) {
  const json_t* version = json_object_get(object, "v");
  if (json_is_integer(version) && json_integer_value(version) == kVersion) return true;
  error = "v is " + describe(version) + ", 1 is allowed";
  return false;
}

std::optional<std::int64_t> get_integer(const json_t* object, const char* name, std::int64_t low,
                                        std::int64_t high, const std::string& where, std::string& error) {
  const json_t* value = json_object_get(object, name);
  if (json_is_integer(value) && json_integer_value(value) >= low && json_integer_value(value) <= high)
    return json_integer_value(value);
  error = where + name + " is " + describe(value) + ", a whole number from " + std::to_string(low) + " to " +
          std::to_string(high) + " is needed";
  return std::nullopt;
}

bool valid_cluster(std::string_view name) noexcept {
  if (name.empty() || name.size() > kClusterMax) return false;
  for (const char c : name)
    if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\') return false;
  return true;
}

}  // namespace mlq::wire
