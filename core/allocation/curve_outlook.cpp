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
// See OutlookTracker.
constexpr double forgetting = 4, moving = 0.02;
constexpr double near = 0.03, lost = 0.15;
constexpr double confirmation = 0.55, confirmation_with_end = 0.4;
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

// Loss left behind so far.
double fall_of(const LossCurve& curve) {
  return std::abs(curve.first_loss() - curve.forecast(0).predicted);
}

// How well the present is known, in reductions so far.
double error_of(const LossCurve& curve) {
  const Forecast now = curve.forecast(0);
  const double fall = fall_of(curve);
  const double error = fall > 0 ? (now.upper - now.lower) / 2 / fall : 1;
  return std::isfinite(error) ? std::max(error, 0.0) : 1;
}

}  // namespace

double OutlookTracker::steadied(double fraction, double fall, double length) {
  const double kept = length_ > 0 && length > length_ ? std::pow(length_ / length, forgetting) : 0;
  fraction_ = kept * fraction_ + (1 - kept) * fraction;
  length_ = length;
  const double whole = fraction > 0 ? fall / fraction : 0;
  if (!(whole > 0) || !std::isfinite(whole)) return fraction_;
  whole_ = whole_ > 0 ? kept * whole_ + (1 - kept) * whole : whole;
  const double moved = std::abs(fraction - fall / whole_);
  return fraction + std::min(moved / moving, 1.0) * (fraction_ - fraction);
}

bool OutlookTracker::confirmed(double fraction, double near_enough, double length, double more,
                               const OutlookOptions& options) {
  const double bound = options.own_target ? near_enough : lost;
  if (reached_ && fraction >= options.target_fraction - bound) return true;
  if (reached_) reached_ = false, near_since_ = -1;
  if (fraction < options.target_fraction - (options.own_target ? 0 : near_enough)) {
    near_since_ = -1;
  } else {
    if (near_since_ < 0) near_since_ = length;
    reached_ = options.own_target || length >= near_since_ * (1 + more);
  }
  return reached_;
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
  const double length = curve.length(), behind = curve.fraction_reached();
  const double ahead = outlook.end_known ? std::min(outlook.to_end, farthest) : farthest;
  double whole = options.own_target ? 1 : behind + curve.gain(ahead);
  if (!(whole > 0)) whole = 1;
  outlook.fraction = std::min(behind / whole, 1.0);
  if (!options.own_target) outlook.fraction = steadied(outlook.fraction, fall_of(curve), length);
  outlook.gain = GainTable([&](double n) { return curve.gain(n); });
  const double direct = iterations_to(curve, (options.target_fraction - outlook.fraction) * whole);
  const double near_enough = near + std::min(wandering * error_of(curve), widest);
  outlook.to_target = 0;
  if (!confirmed(outlook.fraction, near_enough, length,
                 outlook.end_known ? confirmation_with_end : confirmation, options)) {
    // It may well be there: after those that surely are not.
    outlook.to_target = std::max(direct, near_since_);
    // No way there is seen: as many iterations again as were done, so its claim fades as it goes on for
    // nothing.
    if (!std::isfinite(outlook.to_target)) outlook.to_target = std::max(length, 10.0);
  }
  if (showing > 0) outlook.to_target = std::max({std::isfinite(direct) ? direct : 0, showing, 0.5});
  return outlook;
}

}  // namespace mlq
