// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/allocation/outlook.hpp"
#include "core/quality/curve.hpp"

namespace mlq {

namespace {

constexpr std::size_t fewest_points = 3;  // below this the curve has no say
constexpr double farthest = 1 << 20;      // iterations that a search for the target looks ahead
constexpr double near = 0.01, lost = 0.15, confirmation = 0.3;  // see OutlookTracker

// Iterations until the curve has gained `missing`; infinite when it sees no way there.
double iterations_to(const LossCurve& curve, double missing) {
  if (missing <= 0) return 0;
  double low = 0, high = 1;
  while (high < farthest && curve.gain(high) < missing) low = high, high *= 2;
  if (high >= farthest) return std::numeric_limits<double>::infinity();
  for (int i = 0; i < 12; ++i) {
    const double middle = (low + high) / 2;
    (curve.gain(middle) < missing ? low : high) = middle;
  }
  return high;
}

}  // namespace

double OutlookTracker::confirm(double fraction, double to_target, double done,
                               const OutlookOptions& options) {
  if (reached_ && fraction >= options.target_fraction - lost) return 0;
  if (reached_) reached_ = false, near_since_ = -1;
  if (fraction < options.target_fraction - near) {
    near_since_ = -1;
  } else {
    if (near_since_ < 0) near_since_ = done;
    const double until = near_since_ * (1 + confirmation);
    reached_ = done >= until;
    if (reached_) return 0;
    if (to_target <= 0) to_target = until - done;
  }
  // No way there is seen: as many iterations again as were done, so its claim fades as it goes on for
  // nothing.
  if (!std::isfinite(to_target)) to_target = std::max(done, 10.0);
  return to_target;
}

Outlook OutlookTracker::update(const LossCurve& curve, double done, const OutlookOptions& options) {
  Outlook outlook = fresh_outlook(options);
  outlook.to_end = iterations_left(done, options);
  if (curve.verdict() == Verdict::diverged) {  // nothing to gain; what it reached stays
    outlook.known = true;
    outlook.fraction = curve.fraction_reached();
    outlook.to_target = 0;
    return outlook;
  }
  const double showing = options.show_itself - done;
  if (curve.size() < fewest_points) {
    outlook.to_target = std::max(showing, 1.0);
    return outlook;
  }
  outlook.known = true;
  outlook.fraction = curve.fraction_reached();
  outlook.gain = GainTable([&](double n) { return curve.gain(n); });
  const double to_target = iterations_to(curve, options.target_fraction - outlook.fraction);
  outlook.to_target = confirm(outlook.fraction, to_target, done, options);
  if (showing > 0) outlook.to_target = std::max({std::isfinite(to_target) ? to_target : 0, showing, 0.5});
  return outlook;
}

}  // namespace mlq
