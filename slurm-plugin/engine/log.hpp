// SPDX-License-Identifier: GPL-2.0-or-later
// One line to Slurm's log through the shim's callback; formats into a fixed buffer, allocates nothing.
#pragma once

#include <cstdarg>
#include <cstdio>

#include "slurm-plugin/engine/engine.h"

namespace mlq::engine {

class Log {
 public:
  explicit Log(mlq_log_fn sink) noexcept : sink_(sink) {}

  [[gnu::format(printf, 3, 4)]] void line(mlq_log_level_t level, const char* format, ...) const noexcept {
    if (sink_ == nullptr) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char* c = text; *c != '\0'; c++) {
      if (static_cast<unsigned char>(*c) < ' ' || *c == 0x7f) *c = '?';  // values come from users
    }
    sink_(level, text);
  }

 private:
  mlq_log_fn sink_;
};

}  // namespace mlq::engine
