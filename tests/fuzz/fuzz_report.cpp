// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever a job sends is refused with a message that fits into JSON, or is in its ranges.
#include <cmath>
#include <cstdint>

#include "core/wire/report.hpp"
#include "core/wire/wire.hpp"
#include "tests/fuzz/wire_answer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string error;
  auto report = mlq::wire::parse_report({reinterpret_cast<const char*>(data), size}, error);
  if (!taken(report.has_value(), error)) return 0;
  require(!report->stream.empty() && report->stream.size() <= mlq::wire::kStreamMax);
  mlq::wire::limit_times(*report, 1e9);
  for (const auto& point : report->points) {
    require(point.n >= 0 && point.n <= (std::int64_t{1} << 53));
    require(std::isfinite(point.iteration) && !std::isinf(point.loss));
    require(std::isfinite(point.time) && point.time <= 1e9 && point.cores >= 0 && point.cores <= 1e7);
  }
  return 0;
}
