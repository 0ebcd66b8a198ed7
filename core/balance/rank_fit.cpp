// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/rank_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlq::balance {
namespace {

constexpr double kAgeMemory = 64;  ///< measurements; older points weigh less
// 2.4 standard deviations: for normal noise it costs 5 % of what the data tell.
constexpr double kCauchy = 3.5;     ///< median deviations
constexpr double kNear = 0.15;      ///< relative distance from the median that counts as noise
constexpr double kSignificant = 8;  ///< of F with one more parameter

struct Observation {
  double size, seconds, weight;
};

struct Line {
  double fixed = 0, per_sample = 0, cost = std::numeric_limits<double>::infinity();
};

double median_of(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.empty() ? 0 : *middle;
}

double relative_error(const Line& line, const Observation& point) {
  return (line.fixed + line.per_sample * point.size) / point.seconds - 1;
}

enum class Shape { proportional, affine };

/// Weighted least squares of relative errors; `trust` has a factor per point.
Line weighted_line(std::span<const Observation> points, std::span<const double> trust, Shape shape) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& p = points[i];
    const double weight = trust[i] * p.weight / (p.seconds * p.seconds);
    w += weight;
    x += weight * p.size;
    y += weight * p.seconds;
    xx += weight * p.size * p.size;
    xy += weight * p.size * p.seconds;
  }
  Line line;
  const double determinant = w * xx - x * x;
  // Sizes that hardly differ cannot tell a fixed part from a slope.
  if (shape == Shape::affine && determinant > 1e-2 * w * xx) {
    line.per_sample = (w * xy - x * y) / determinant;
    line.fixed = (y - line.per_sample * x) / w;
  }
  if (!(line.per_sample > 0) || line.fixed < 0) {
    line.fixed = 0;
    line.per_sample = xy / xx;
  }
  return line;
}

/// Cauchy weights around a line through the median rate: one doubled time among few points must not tilt it.
Line fit_line(std::span<const Observation> points, Shape shape) {
  std::array<double, RankTimeFit::kPoints> trust{}, scratch{};
  const std::span<double> some(scratch.data(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) scratch[i] = points[i].seconds / points[i].size;
  Line line{.per_sample = median_of(some)};
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < points.size(); ++i) scratch[i] = std::abs(relative_error(line, points[i]));
    const double scale = std::max(0.01, kCauchy * median_of(some));
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double e = relative_error(line, points[i]) / scale;
      trust[i] = 1 / (1 + e * e);
    }
    line = weighted_line(points, trust, shape);
  }
  line.cost = 0;
  for (const auto& point : points)
    line.cost += point.weight * std::min(0.01, std::pow(relative_error(line, point), 2));
  return line;
}

/// A fixed part must explain more than noise would: a second parameter that means nothing sends the sizes
/// astray where they are extrapolated.
Line best_line(std::span<const Observation> points) {
  const Line simple = fit_line(points, Shape::proportional), affine = fit_line(points, Shape::affine);
  double weight = 0;
  for (const auto& point : points) weight += point.weight;
  const double freedom = weight - 2;
  return freedom > 0 && simple.cost - affine.cost > kSignificant * affine.cost / freedom ? affine : simple;
}

}  // namespace

/// The mean of what lies around the median: robust as that, but with less of the noise.
double RankTimeFit::Point::typical() const {
  std::array<double, kRepeats> sorted;
  sorted.fill(std::numeric_limits<double>::infinity());
  const std::size_t n = seconds.size();
  for (std::size_t i = 0; i < n; ++i) sorted[i] = seconds[i];
  std::sort(sorted.begin(), sorted.end());
  const double median = n == 0 ? 0 : 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
  double sum = 0;
  std::size_t near = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (std::abs(sorted[i] - median) <= kNear * median) {
      sum += sorted[i];
      ++near;
    }
  return near == 0 ? median : sum / static_cast<double>(near);
}

RankTimeFit::Point& RankTimeFit::point_for(std::uint64_t size) {
  for (std::size_t i = 0; i < points_; ++i)
    if (point_[i].size == size) return point_[i];
  std::size_t at = points_;
  if (points_ < kPoints)
    ++points_;
  else
    at = static_cast<std::size_t>(
        std::min_element(point_.begin(), point_.end(), [](auto& a, auto& b) { return a.age < b.age; }) -
        point_.begin());
  point_[at] = Point{};
  point_[at].size = size;
  return point_[at];
}

void RankTimeFit::observe(std::uint64_t size, double seconds) {
  if (size == 0 || !std::isfinite(seconds) || seconds <= 0) return;
  Point& point = point_for(size);
  point.age = ++clock_;
  point.seconds.push(seconds);
}

void RankTimeFit::out_of_memory(std::uint64_t size) {
  set_max_size(size_after_out_of_memory(size));
}

void RankTimeFit::set_max_size(std::uint64_t size) {
  max_size_ = std::min(max_size_, size);
}

RankTime RankTimeFit::fit() const {
  std::array<Observation, kPoints> data;
  for (std::size_t i = 0; i < points_; ++i) {
    const double age = static_cast<double>(clock_ - point_[i].age);
    data[i] = {static_cast<double>(point_[i].size), point_[i].typical(),
               static_cast<double>(point_[i].seconds.size()) * std::exp(-age / kAgeMemory)};
  }
  const std::span<Observation> points(data.data(), points_);
  std::sort(points.begin(), points.end(), [](auto& a, auto& b) { return a.size < b.size; });

  RankTime best{.max_size = max_size_};
  double best_cost = std::numeric_limits<double>::infinity(), flat_weight = 0, flat_sum = 0;
  // Every point in turn may be the first beyond saturation. Two must lie on either side, or a knee explains
  // anything.
  for (std::size_t knee = 0; knee < points.size(); ++knee) {
    if (knee > 0) {
      flat_weight += points[knee - 1].weight;
      flat_sum += points[knee - 1].weight * points[knee - 1].seconds;
      if (knee < 2 || points.size() - knee < 2) continue;
    }
    const double level = knee == 0 ? 0 : flat_sum / flat_weight;
    const Line line = best_line(points.subspan(knee));
    double cost = line.cost;
    for (std::size_t i = 0; i < knee; ++i) {
      const double e = level / points[i].seconds - 1;
      cost += points[i].weight * std::min(0.01, e * e);
    }
    if (cost < (knee == 0 ? best_cost : 0.5 * best_cost - 1e-6)) {
      best_cost = cost;
      best.saturation = level;
      best.fixed = line.fixed;
      best.per_sample = line.per_sample;
    }
  }
  return best;
}

double RankTimeFit::noise() const {
  if (points_ == 0) return 0;
  const RankTime model = fit();
  std::array<double, kPoints * kRepeats> errors;
  std::size_t count = 0;
  for (std::size_t i = 0; i < points_; ++i)
    for (std::size_t j = 0; j < point_[i].seconds.size(); ++j)
      errors[count++] = std::abs(point_[i].seconds[j] / model.seconds(point_[i].size) - 1);
  // Median absolute deviation to the standard deviation of a normal.
  return count < 4 ? 0 : 1.4826 * median_of({errors.data(), count});
}

}  // namespace mlq::balance
