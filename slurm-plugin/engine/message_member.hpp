// SPDX-License-Identifier: GPL-2.0-or-later
// Members of the messages to mlqd. What has no value there is left out: no text, a number that is not finite.
#pragma once

#include <jansson.h>

#include <concepts>
#include <string_view>

namespace mlq::engine {

void put(json_t* to, const char* key, double value);

template <std::integral Whole>
void put(json_t* to, const char* key, Whole value) {
  json_object_set_new(to, key, json_integer(static_cast<json_int_t>(value)));
}

/// Names come from users, and reasons may repeat what an agent wrote: where that is no UTF-8, each byte that
/// is no ASCII is told as '?'.
void put(json_t* to, const char* key, std::string_view value);

}  // namespace mlq::engine
