// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/allocation/outlook.hpp"
#include "core/quality/curve.hpp"

namespace mlq {

namespace {

constexpr std::size_t fewest_points = 3;    // below this the curve has no say
constexpr double farthest = 1 << 20;        // iterations that a search for the target looks ahead
constexpr double near = 0.03, lost = 0.15;  // see OutlookTracker
constexpr double quiet_confirmation = 0.6, noisy_confirmation = 0.8, noisy = 0.002;
constexpr double wandering = 0.4, widest = 0.03;  // of the error of the present; at most

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

// How well the present is known, in reductions so far.
double error_of(const LossCurve& curve) {
  const Forecast now = curve.forecast(0);
  const double behind = std::abs(curve.first_loss() - now.predicted);
  const double error = behind > 0 ? (now.upper - now.lower) / 2 / behind : 1;
  return std::isfinite(error) ? std::max(error, 0.0) : 1;
}

}  // namespace

double OutlookTracker::confirm(double fraction, double to_target, double done, double error,
                               const OutlookOptions& options) {
  if (reached_ && fraction >= options.target_fraction - lost) return 0;
  if (reached_) reached_ = false, near_since_ = -1;
  const double confirmation =
      quiet_confirmation + (noisy_confirmation - quiet_confirmation) * std::min(error / noisy, 1.0);
  if (fraction < options.target_fraction - near - std::min(wandering * error, widest)) {
    near_since_ = -1;
  } else {
    if (near_since_ < 0) near_since_ = done;
    reached_ = done >= near_since_ * (1 + confirmation);
    if (reached_) return 0;
    to_target = std::max(to_target, near_since_);  // it may well be there: after those that surely are not
  }
  // No way there is seen: as many iterations again as were done, so its claim fades as it goes on for
  // nothing.
  if (!std::isfinite(to_target)) to_target = std::max(done, 10.0);
  return to_target;
}

Outlook OutlookTracker::update(const LossCurve& curve, double done, const OutlookOptions& options) {
  Outlook outlook = fresh_outlook(options);
  outlook.to_end = iterations_left(done, options);
  outlook.end_known = end_known(done, options);
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
  const double behind = curve.fraction_reached(), foreseen = curve.gain(farthest);
  const double whole = options.own_target || !(behind + foreseen > 0) ? 1 : behind + foreseen;
  outlook.fraction = std::min(behind / whole, 1.0);
  outlook.gain = GainTable([&](double n) { return curve.gain(n); });
  const double to_target = iterations_to(curve, (options.target_fraction - outlook.fraction) * whole);
  outlook.to_target = confirm(outlook.fraction, to_target, done, error_of(curve), options);
  if (showing > 0) outlook.to_target = std::max({std::isfinite(to_target) ? to_target : 0, showing, 0.5});
  return outlook;
}

}  // namespace mlq
