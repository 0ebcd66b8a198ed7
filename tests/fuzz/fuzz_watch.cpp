// SPDX-License-Identifier: GPL-2.0-or-later
// Lines of a trainer's log; the first byte chooses the options.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tools/mlq/log_line.hpp"
#include "tools/mlq/log_tail.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  mlq::cli::LogOptions options;
  if (data[0] & 1) options.loss = "a";
  if (data[0] & 2) options.step = "b";
  if (data[0] & 4) options.pattern = "([0-9]+)[^0-9]+([0-9.]+)";
  mlq::cli::LogReader reader(options);
  std::string buffer(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (const std::string& line : mlq::cli::cut_lines(buffer))
    if (const auto report = reader.take(line); report && !std::isfinite(report->iteration)) std::abort();
  return 0;
}
