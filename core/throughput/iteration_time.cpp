// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/throughput/iteration_time.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

namespace mlq {

namespace {

constexpr double same_size = 1.02;  // sizes closer than this are one size: they tell nothing about scaling
constexpr double saturation = 50;   // iterations after which an old mean no longer gains weight
constexpr double worth_a_parameter =
    1e-4;  // (1 %)^2: a parameter must lower the mean square relative error by more

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, 3, 0, 8, 3>;
using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 8, 1>;

struct Fit {
  Eigen::Vector3d x = Eigen::Vector3d::Zero();  // W, alpha, gamma
  double mean_square = std::numeric_limits<double>::infinity();
};

// Least squares with the columns named by `mask` (bit 0: W, 1: alpha, 2: gamma), all parameters >= 0.
Fit solve(const Matrix& rows, const Vector& ones, double total, unsigned mask) {
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 8, 3> columns(rows.rows(),
                                                                         __builtin_popcount(mask));
  for (int from = 0, to = 0; from < 3; ++from)
    if (mask >> from & 1) columns.col(to++) = rows.col(from);
  const Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 3, 1> part = columns.colPivHouseholderQr().solve(ones);
  Fit fit;
  if (!part.allFinite() || part.minCoeff() < 0 || part(0) <= 0) return fit;
  for (int from = 0, to = 0; from < 3; ++from)
    if (mask >> from & 1) fit.x(from) = part(to++);
  fit.mean_square = (rows * fit.x - ones).squaredNorm() / total;
  return fit;
}

}  // namespace

IterationTime::Sample& IterationTime::sample_for(double cores) {
  for (std::size_t i = 0; i < used_; ++i)
    if (std::max(cores, samples_[i].cores) <= same_size * std::min(cores, samples_[i].cores))
      return samples_[i];
  if (used_ < samples_.size()) return samples_[used_++] = Sample{cores, 0, 0, 0};
  auto oldest = std::min_element(samples_.begin(), samples_.end(),
                                 [](const Sample& a, const Sample& b) { return a.age < b.age; });
  return *oldest = Sample{cores, 0, 0, 0};
}

void IterationTime::observe(double cores, double iterations, double seconds) {
  const auto usable = [](double v) { return std::isfinite(v) && v > 1e-12 && v < 1e12; };
  if (!usable(cores) || !usable(iterations) || !usable(seconds) || !usable(seconds / iterations)) return;
  Sample& sample = sample_for(cores);
  const double share = std::min(1.0, iterations / (iterations + std::min<double>(sample.weight, saturation)));
  sample.seconds += share * (seconds / iterations - sample.seconds);
  sample.weight = static_cast<float>(std::min(sample.weight + iterations, saturation));
  sample.age = ++clock_;
  fit();
}

void IterationTime::fit() {
  // Relative errors: a row is the model's prediction over the measured time, and should be 1.
  Matrix rows(used_, 3);
  Vector ones(used_);
  double total = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    const Sample& s = samples_[i];
    const double w = std::sqrt(static_cast<double>(s.weight));
    rows.row(i) << w / s.cores / s.seconds, w / s.seconds, w * s.cores / s.seconds;
    ones(i) = w;
    total += s.weight;
  }
  const Fit linear = solve(rows, ones, total, 1);
  Fit best = linear;
  double best_cost = linear.mean_square;
  for (unsigned mask : {3U, 5U, 7U}) {
    const auto parameters = static_cast<std::size_t>(__builtin_popcount(mask));
    if (used_ < parameters) continue;
    const Fit fit = solve(rows, ones, total, mask);
    const double cost = fit.mean_square + worth_a_parameter * static_cast<double>(parameters - 1);
    if (cost < best_cost) best = fit, best_cost = cost;
  }
  if (!std::isfinite(best.mean_square)) return;
  model_ = {best.x(1), best.x(0), best.x(2)};
}

}  // namespace mlq
