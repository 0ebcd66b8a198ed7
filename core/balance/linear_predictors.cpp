// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/linear_predictors.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace mlq::balance {
namespace {

// The test of Level: a shift of one deviation is noticed within about 14 iterations, a false alarm comes
// every few thousand. One value counts for at most four deviations: two spikes in a row are no change, three
// are.
constexpr double kDrift = 0.5, kAlarm = 7, kSpike = 4;
constexpr double kSmallest = 1e-3;  // relative noise
constexpr double kStepMemory = 0.05;
constexpr std::size_t kLongest = 200;  // iterations that a mean rests on

bool usable(double speed) {
  return std::isfinite(speed) && speed > 0;
}

/// A linear model may leave the range of what was seen; a speed cannot.
double within_reason(double predicted, double last) {
  if (!std::isfinite(predicted)) return last;
  return std::clamp(predicted, 0.1 * last, 10 * last);
}

double standardised(double value, const RunningScale& scale) {
  const double deviation = std::sqrt(scale.variance());
  const double floor = 1e-6 * std::abs(scale.mean()) + 1e-12;
  const double z = (value - scale.mean()) / std::max(deviation, floor);
  return std::isfinite(z) ? std::clamp(z, -8.0, 8.0) : 0;
}

}  // namespace

void LastValue::observe(const NodeState&, double speed) {
  if (usable(speed)) last_ = speed;
}

void MovingAverage::observe(const NodeState&, double speed) {
  if (usable(speed)) mean_ = mean_ > 0 ? mean_ + alpha_ * (speed - mean_) : speed;
}

void Level::restart(std::size_t since) {
  const std::size_t n = std::clamp<std::size_t>(since, 1, speeds_.size());
  std::array<double, kBack> recent{};
  for (std::size_t i = 0; i < n; ++i) recent[i] = speeds_[i];
  // The median: what raised the alarm may have been a spike on top of little else.
  const auto middle = recent.begin() + static_cast<std::ptrdiff_t>(n / 2);
  std::nth_element(recent.begin(), middle, recent.begin() + static_cast<std::ptrdiff_t>(n));
  mean_ = *middle;
  count_ = n;
  above_ = below_ = 0;
  since_above_ = since_below_ = 0;
  ++changes_;
}

void Level::observe(const NodeState&, double speed) {
  if (!usable(speed)) return;
  if (speeds_.size() > 0) {
    // Steps between neighbours show the noise whatever the level does; a change is but one of them.
    const double step = std::min(0.25, std::abs(speed / speeds_[0] - 1));
    step_ += std::max(kStepMemory, 1.0 / static_cast<double>(speeds_.size() + 1)) * (step * step - step_);
  }
  speeds_.push(speed);
  if (count_ == 0) return restart(1);
  const double deviation = mean_ * std::max(kSmallest, std::sqrt(step_ / 2));
  const double z = std::clamp((speed - mean_) / deviation, -kSpike, kSpike);
  above_ = std::max(0.0, above_ + z - kDrift);
  below_ = std::max(0.0, below_ - z - kDrift);
  since_above_ = above_ > 0 ? since_above_ + 1 : 0;
  since_below_ = below_ > 0 ? since_below_ + 1 : 0;
  if (above_ > kAlarm) return restart(since_above_);
  if (below_ > kAlarm) return restart(since_below_);
  count_ = std::min<std::size_t>(count_ + 1, kLongest);
  mean_ += z * deviation / static_cast<double>(count_);  // a spike moves it no more than it moves the test
}

RecursiveLeastSquares<3>::Vector Arima::inputs() const {
  const double scale = speeds_[0];
  return {(speeds_[0] - speeds_[1]) / scale, (speeds_[1] - speeds_[2]) / scale, innovation_ / scale};
}

double Arima::predict(const NodeState&) {
  if (speeds_.size() == 0) return 0;
  if (!speeds_.full()) return speeds_[0];
  return within_reason(speeds_[0] * (1 + model_.predict(inputs())), speeds_[0]);
}

void Arima::observe(const NodeState& then, double speed) {
  if (!usable(speed)) return;
  if (speeds_.full()) {
    const double expected = predict(then);
    model_.update(inputs(), (speed - speeds_[0]) / speeds_[0]);
    innovation_ = speed - expected;
  }
  speeds_.push(speed);
}

RecursiveLeastSquares<Arx::kInputs>::Vector Arx::inputs(const NodeState& now) const {
  RecursiveLeastSquares<kInputs>::Vector x;
  x << 1, standardised(speeds_[0], speed_scale_), standardised(speeds_[1], speed_scale_),
      standardised(now.cpu, cpu_scale_), standardised(before_.cpu, cpu_scale_),
      standardised(now.memory, memory_scale_), standardised(before_.memory, memory_scale_);
  return x;
}

double Arx::predict(const NodeState& now) {
  if (speeds_.size() == 0) return 0;
  if (!speeds_.full()) return speeds_[0];
  const double deviation = std::sqrt(speed_scale_.variance());
  return within_reason(speed_scale_.mean() + deviation * model_.predict(inputs(now)), speeds_[0]);
}

void Arx::observe(const NodeState& then, double speed) {
  if (!usable(speed)) return;
  if (speeds_.full()) model_.update(inputs(then), standardised(speed, speed_scale_));
  speed_scale_.add(speed);
  cpu_scale_.add(then.cpu);
  memory_scale_.add(then.memory);
  speeds_.push(speed);
  before_ = then;
}

}  // namespace mlq::balance
