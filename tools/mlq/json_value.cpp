// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/json_value.hpp"

#include <cmath>

namespace mlq::cli {

Number number(const json_t* value) {
  if (!json_is_number(value) || !std::isfinite(json_number_value(value))) return std::nullopt;
  return json_number_value(value);
}

Number number(const json_t* object, const char* name) {
  return number(json_object_get(object, name));
}

std::string text(const json_t* object, const char* name) {
  const char* value = json_string_value(json_object_get(object, name));
  return value ? value : "";
}

json_t* number_json(const Number& value) {
  if (!value || !std::isfinite(*value)) return json_null();
  if (std::fabs(*value) < 9e15 && *value == std::floor(*value))
    return json_integer(static_cast<json_int_t>(*value));
  return json_real(*value);
}

json_t* text_json(const std::string& value) {
  return value.empty() ? json_null() : json_stringn(value.data(), value.size());
}

}  // namespace mlq::cli
