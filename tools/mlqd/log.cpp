// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/log.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mlq::mlqd {
namespace {

std::atomic<int> limit{static_cast<int>(Level::info)};

const char* name_of(Level level) noexcept {
  switch (level) {
    case Level::error:
      return "error: ";
    case Level::warning:
      return "warning: ";
    case Level::debug:
      return "debug: ";
    case Level::info:
      break;
  }
  return "";
}

}  // namespace

void set_log_level(Level level) noexcept {
  limit = static_cast<int>(level);
}

void log(Level level, const char* format, ...) noexcept {
  if (static_cast<int>(level) > limit) return;
  char line[1024];
  const bool journal = std::getenv("JOURNAL_STREAM") != nullptr;
  int size = journal ? std::snprintf(line, sizeof line, "<%d>", static_cast<int>(level))
                     : std::snprintf(line, sizeof line, "mlqd: %s", name_of(level));
  va_list arguments;
  va_start(arguments, format);
  size += std::vsnprintf(line + size, sizeof line - static_cast<std::size_t>(size) - 1, format, arguments);
  va_end(arguments);
  if (size > static_cast<int>(sizeof line) - 2) size = sizeof line - 2;
  // user text may be in a message: a control character must not start a line of its own
  for (int i = 0; i < size; ++i)
    if (static_cast<unsigned char>(line[i]) < ' ' || line[i] == 0x7f) line[i] = '?';
  line[size] = '\n';
  // one write, so that lines of several threads stay whole
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, static_cast<std::size_t>(size) + 1);
}

}  // namespace mlq::mlqd
