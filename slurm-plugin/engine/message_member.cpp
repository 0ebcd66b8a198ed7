// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/message_member.hpp"

#include <cmath>
#include <string>

namespace mlq::engine {

void put(json_t* to, const char* key, double value) {
  if (std::isfinite(value)) json_object_set_new(to, key, json_real(value));
}

void put(json_t* to, const char* key, std::string_view value) {
  if (value.empty()) return;
  json_t* text = json_stringn(value.data(), value.size());
  if (text == nullptr) {
    std::string ascii(value);
    for (char& c : ascii) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
    text = json_stringn(ascii.data(), ascii.size());
  }
  json_object_set_new(to, key, text);
}

}  // namespace mlq::engine
