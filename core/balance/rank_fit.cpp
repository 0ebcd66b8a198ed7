// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/rank_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlq::balance {
namespace {

constexpr double kAgeMemory = 64;  ///< measurements; older points weigh less

struct Observation {
  double size, seconds, weight;
};

struct Line {
  double fixed = 0, per_sample = 0, cost = std::numeric_limits<double>::infinity();
};

/// Weighted least squares of relative errors over the points from `first` on.
Line fit_line(std::span<const Observation> points, std::size_t first) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = first; i < points.size(); ++i) {
    const auto& p = points[i];
    const double weight = p.weight / (p.seconds * p.seconds);
    w += weight;
    x += weight * p.size;
    y += weight * p.seconds;
    xx += weight * p.size * p.size;
    xy += weight * p.size * p.seconds;
  }
  Line line;
  const double determinant = w * xx - x * x;
  if (determinant > 1e-9 * w * xx) {
    line.per_sample = (w * xy - x * y) / determinant;
    line.fixed = (y - line.per_sample * x) / w;
  }
  if (!(line.per_sample > 0) || line.fixed < 0) {
    line.fixed = 0;
    line.per_sample = xy / xx;
  }
  line.cost = 0;
  for (std::size_t i = first; i < points.size(); ++i) {
    const double e = (line.fixed + line.per_sample * points[i].size) / points[i].seconds - 1;
    line.cost += points[i].weight * e * e;
  }
  return line;
}

}  // namespace

double RankTimeFit::Point::median() const {
  std::array<double, kRepeats> sorted;
  const std::size_t n = seconds.size();
  for (std::size_t i = 0; i < n; ++i) sorted[i] = seconds[i];
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n));
  return n == 0 ? 0 : 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
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

void RankTimeFit::out_of_memory(std::uint64_t size) { set_max_size(size - size / 8 - (size > 0)); }

void RankTimeFit::set_max_size(std::uint64_t size) { max_size_ = std::min(max_size_, size); }

RankTime RankTimeFit::fit() const {
  std::array<Observation, kPoints> data;
  for (std::size_t i = 0; i < points_; ++i) {
    const double age = static_cast<double>(clock_ - point_[i].age);
    data[i] = {static_cast<double>(point_[i].size), point_[i].median(), std::exp(-age / kAgeMemory)};
  }
  const std::span<Observation> points(data.data(), points_);
  std::sort(points.begin(), points.end(), [](auto& a, auto& b) { return a.size < b.size; });

  RankTime best{.max_size = max_size_};
  double best_cost = std::numeric_limits<double>::infinity(), flat_weight = 0, flat_sum = 0;
  // Every point in turn may be the first beyond saturation; two points must remain for the line, and a knee must pay for itself.
  for (std::size_t knee = 0; knee < points.size(); ++knee) {
    if (knee > 0 && points.size() - knee < 2) break;
    const double level = knee == 0 ? 0 : flat_sum / flat_weight;
    const Line line = fit_line(points, knee);
    double cost = line.cost;
    for (std::size_t i = 0; i < knee; ++i) {
      const double e = level / points[i].seconds - 1;
      cost += points[i].weight * e * e;
    }
    if (cost < (knee == 0 ? best_cost : 0.5 * best_cost - 1e-6)) {
      best_cost = cost;
      best.saturation = level;
      best.fixed = line.fixed;
      best.per_sample = line.per_sample;
    }
    flat_weight += points[knee].weight;
    flat_sum += points[knee].weight * points[knee].seconds;
  }
  return best;
}

double RankTimeFit::noise() const {
  if (points_ == 0) return 0;
  const RankTime model = fit();
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < points_; ++i)
    for (std::size_t j = 0; j < point_[i].seconds.size(); ++j, ++count)
      sum += std::abs(point_[i].seconds[j] / model.seconds(point_[i].size) - 1);
  // Mean absolute deviation to standard deviation of a normal.
  return count < 4 ? 0 : 1.2533 * sum / static_cast<double>(count);
}

}  // namespace mlq::balance
