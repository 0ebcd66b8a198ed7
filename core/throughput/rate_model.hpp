// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cmath>
#include <limits>

namespace mlq {

/// Seconds per iteration t(c) = alpha + W/c + gamma*c on c cores; W = 0: not known.
struct RateModel {
  double alpha = 0;  ///< seconds, the part that no core speeds up
  double work = 0;   ///< core-seconds per iteration
  double gamma = 0;  ///< seconds per core, the cost of coordination

  bool known() const { return work > 0; }
  /// Iterations per second; 0 while not known or for cores <= 0. Concave up to useful_cores(). Finite.
  double rate(double cores) const {
    if (!known() || !(cores > 0) || !std::isfinite(cores)) return 0;
    const double rate = 1 / (alpha + work / cores + gamma * cores);
    return std::isfinite(rate) ? rate : 0;
  }
  /// Size above which more cores make an iteration slower; infinite when there is none.
  double useful_cores() const {
    return gamma > 0 ? std::sqrt(work / gamma) : std::numeric_limits<double>::infinity();
  }
};

}  // namespace mlq
