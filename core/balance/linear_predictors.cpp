// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/linear_predictors.hpp"

#include <algorithm>
#include <cmath>

namespace mlq::balance {
namespace {

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
