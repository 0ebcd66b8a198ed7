// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/throughput/mixed_rate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlq {

double mixed_rate(std::span<const MixedPart> parts, Mix mix) {
  double cores = 0, sum = 0, slowest = std::numeric_limits<double>::infinity();
  for (const MixedPart& part : parts) {
    if (!(part.cores > 0) || !std::isfinite(part.cores)) continue;
    const double rate = std::isfinite(part.rate) ? std::max(part.rate, 0.0) : 0.0;
    cores += part.cores;
    sum += rate;
    slowest = std::min(slowest, rate / part.cores);
  }
  if (cores <= 0) return 0;
  const double rate = mix == Mix::additive ? sum : slowest * cores;
  return std::isfinite(rate) ? rate : 0;
}

}  // namespace mlq
