// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <limits>

#include "core/allocation/outlook.hpp"
#include "core/quality/curve.hpp"

namespace mlq {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::size_t fewest_points = 3;  // below this the curve has no say
constexpr double farthest = 1 << 20;      // iterations that a search for the target looks ahead

}  // namespace

Outlook outlook_of(const LossCurve& curve, double done, const OutlookOptions& options) {
  Outlook outlook;
  outlook.to_end = iterations_left(done, options);
  outlook.to_target = std::min(options.fresh_to_target, outlook.to_end);
  if (curve.size() < fewest_points || curve.verdict() == Verdict::diverged) return outlook;
  outlook.known = true;
  outlook.fraction = curve.fraction_reached();
  outlook.gain = GainTable([&](double n) { return curve.gain(n); });
  const double missing = options.target_fraction - outlook.fraction;
  if (missing <= 0) {
    outlook.to_target = 0;
    return outlook;
  }
  double low = 0, high = 1;
  while (high < farthest && curve.gain(high) < missing) low = high, high *= 2;
  if (high >= farthest) {
    outlook.to_target = infinite;
    return outlook;
  }
  for (int i = 0; i < 12; ++i) {
    const double middle = (low + high) / 2;
    (curve.gain(middle) < missing ? low : high) = middle;
  }
  outlook.to_target = high;
  return outlook;
}

}  // namespace mlq
