// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever a job sends as its speeds is refused with a message that fits into JSON, or all of it is within
// its bounds.
#include <cmath>
#include <cstdint>

#include "core/wire/speeds.hpp"
#include "core/wire/wire.hpp"
#include "tests/fuzz/wire_answer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string error;
  const auto report = mlq::wire::parse_speeds({reinterpret_cast<const char*>(data), size}, error);
  if (!taken(report.has_value(), error)) return 0;
  require(mlq::wire::valid_speed_family(report->family) && mlq::wire::valid_speed_unit(report->unit));
  require(!report->node.empty() && report->node.size() <= mlq::wire::kNodeMax);
  require(!report->ranks.empty() && report->ranks.size() <= mlq::wire::kRanksMax);
  for (const auto& rank : report->ranks) {
    require(rank.rank >= 0 && rank.rank <= mlq::wire::kRankNumberMax && rank.size >= 0);
    require(std::isfinite(rank.speed) && rank.speed >= 0);
  }
  require(std::isfinite(report->median_speed()));
  return 0;
}
