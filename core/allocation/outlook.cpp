// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/outlook.hpp"

#include <algorithm>
#include <cmath>

#include "core/allocation/concave_hull.hpp"

namespace mlq {

namespace {

constexpr double least_left = 0.5;  // iterations

}  // namespace

double GainTable::knot(std::size_t i) {
  return std::ldexp(1.0, static_cast<int>(i) - 2);
}

void GainTable::assign(const std::array<double, knots>& values) {
  std::array<HullPoint, knots + 1> points{};
  double best = 0;
  for (std::size_t i = 0; i < knots; ++i) {
    if (std::isfinite(values[i])) best = std::max(best, std::min(values[i], 1.0));
    points[i + 1] = {knot(i), best};
  }
  const std::size_t kept = concave_hull(points);
  for (std::size_t i = 0, corner = 1; i < knots; ++i) {
    while (corner + 1 < kept && points[corner].x < knot(i)) ++corner;
    const HullPoint &a = points[corner - 1], &b = points[corner];
    values_[i] = static_cast<float>(a.y + (b.y - a.y) * (knot(i) - a.x) / (b.x - a.x));
  }
}

double GainTable::operator()(double iterations) const {
  if (!(iterations > 0)) return 0;
  if (iterations >= knot(knots - 1)) return values_[knots - 1];
  if (iterations <= knot(0)) return values_[0] * iterations / knot(0);
  int exponent = 0;
  const double mantissa = std::frexp(iterations, &exponent);  // in [0.5, 1)
  const auto below = static_cast<std::size_t>(exponent) + 1;
  const double part = 2 * mantissa - 1;
  return values_[below] + part * (static_cast<double>(values_[below + 1]) - values_[below]);
}

void TwoPointForecast::add(double loss, double core_seconds) {
  if (!std::isfinite(loss)) return;
  before_ = now_;
  now_ = loss;
  ++losses_;
  if (losses_ > 1) largest_drop_ = std::max(largest_drop_, before_ - now_);
  // The first iteration is left out of the mean: it loads data.
  if (losses_ > 1 && std::isfinite(core_seconds) && core_seconds > 0)
    work_ += (core_seconds - work_) / std::max(losses_ - 1, 1U);
}

double TwoPointForecast::gain(double cores, double seconds) const {
  if (losses_ < 2 || !(work_ > 0) || !(largest_drop_ > 0) || !(before_ > 0) || !(now_ >= 0)) return 0;
  const double iterations = cores * seconds / work_;
  const double forecast = now_ * std::pow(now_ / before_, iterations);
  const double gain = (now_ - std::max(forecast, 0.0)) / largest_drop_;
  return std::isfinite(gain) ? gain : 0;
}

double iterations_left(double done, const OutlookOptions& options) {
  done = std::isfinite(done) && done > 0 ? done : 0;
  if (std::isfinite(options.iterations) && options.iterations > done)
    return std::max(options.iterations - done, least_left);
  if (std::isfinite(options.expected_iterations) && options.expected_iterations > done)
    return std::max(options.expected_iterations - done, least_left);
  return options.unknown_left;
}

bool end_known(double done, const OutlookOptions& options) {
  done = std::isfinite(done) && done > 0 ? done : 0;
  return (std::isfinite(options.iterations) && options.iterations > done) ||
         (std::isfinite(options.expected_iterations) && options.expected_iterations > done);
}

Outlook fresh_outlook(const OutlookOptions& options) {
  Outlook outlook;
  outlook.to_end = iterations_left(0, options);
  outlook.end_known = end_known(0, options);
  outlook.to_target = std::min(options.show_itself, outlook.to_end);
  return outlook;
}

}  // namespace mlq
