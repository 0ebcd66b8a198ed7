// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/narx.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace mlq::balance {
namespace {

// Ridge on the weights: the window is short, and nothing should be added where nothing is curved.
constexpr double kRidge = 1e-2;
constexpr double kErrorMemory = 0.05, kGateMemory = 0.05;

double standardised(double value, const RunningScale& scale) {
  const double floor = 1e-3 * std::abs(scale.mean()) + 1e-12;
  const double z = (value - scale.mean()) / std::max(std::sqrt(scale.variance()), floor);
  return std::isfinite(z) ? std::clamp(z, -6.0, 6.0) : 0;
}

}  // namespace

Narx::Narx() {
  // Small weights of fixed, differing signs: the same net on every rank, without a random generator.
  for (int i = 0; i < kWeights; ++i) weights_[i] = 0.3 * std::sin(1.0 + 2.3 * i);
}

double Narx::linear_part(const NodeState& now) {
  linear_ = {level_.predict(now), average_.predict(now), arima_.predict(now), arx_.predict(now)};
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < linear_.size(); ++i) {
    const double weight = 1 / (linear_error_[i] + 1e-12);
    sum += weight * linear_[i];
    weights += weight;
  }
  return sum / weights;
}

Narx::Input Narx::inputs(const NodeState& now, double linear) const {
  Input input;
  int at = 0;
  for (int i = 0; i < kSpeeds; ++i) input[at++] = standardised(speeds_[i], speed_scale_);
  for (int i = 0; i < kStates; ++i) {
    const NodeState& state = i == 0 ? now : states_[i - 1];
    input[at++] = standardised(state.cpu, cpu_scale_);
    input[at++] = standardised(state.memory, memory_scale_);
    input[at++] = standardised(state.stall, stall_scale_);
  }
  input[at] = standardised(linear, speed_scale_);
  return input;
}

/// Layout of the weights: per hidden unit its inputs and bias; output weights; output bias.
double Narx::evaluate(const Weights& weights, const Input& input, Weights* gradient) const {
  constexpr int kOutput = kHidden * (kInputs + 1);
  double sum = weights[kWeights - 1];
  if (gradient) (*gradient)[kWeights - 1] = 1;
  for (int unit = 0; unit < kHidden; ++unit) {
    const int first = unit * (kInputs + 1);
    const double h = std::tanh(weights.segment<kInputs>(first).dot(input) + weights[first + kInputs]);
    const double out = weights[kOutput + unit];
    sum += out * h;
    if (!gradient) continue;
    const double slope = out * (1 - h * h);
    gradient->segment<kInputs>(first) = slope * input;
    (*gradient)[first + kInputs] = slope;
    (*gradient)[kOutput + unit] = h;
  }
  return sum;
}

double Narx::cost(const Weights& weights) const {
  double sum = kRidge * weights.squaredNorm() * static_cast<double>(examples_.size());
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    const double residual = examples_[i].output - evaluate(weights, examples_[i].input, nullptr);
    sum += residual * residual;
  }
  return sum;
}

/// One Levenberg-Marquardt step; a step that does not lower the cost only raises the damping.
void Narx::train() {
  using Matrix = Eigen::Matrix<double, kWeights, kWeights>;
  const double count = static_cast<double>(examples_.size());
  Matrix normal = Matrix::Zero();
  Weights slope = -kRidge * count * weights_, gradient;
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    const double residual = examples_[i].output - evaluate(weights_, examples_[i].input, &gradient);
    normal.selfadjointView<Eigen::Lower>().rankUpdate(gradient);
    slope += residual * gradient;
  }
  normal.diagonal().array() += kRidge * count + damping_ * count;
  const Eigen::LDLT<Matrix, Eigen::Lower> factor(normal);
  if (factor.info() != Eigen::Success) return;
  const Weights candidate = weights_ + factor.solve(slope);
  if (candidate.allFinite() && cost(candidate) < cost(weights_)) {
    weights_ = candidate;
    damping_ = std::max(1e-6, damping_ * 0.3);
  } else {
    damping_ = std::min(1e3, damping_ * 10);
  }
  trained_ = true;
}

double Narx::shrinkage() const {
  return trained_ && power_ > 0 ? std::clamp(explained_ / power_, 0.0, 1.0) : 0;
}

double Narx::within_reason(double speed) const {
  const double last = speeds_[0];
  return std::isfinite(speed) ? std::clamp(speed, 0.1 * last, 10 * last) : last;
}

double Narx::predict(const NodeState& now) {
  if (speeds_.size() == 0) return 0;
  const double linear = linear_part(now);
  const double share = shrinkage();
  if (!(share > 0) || !speeds_.full() || !states_.full()) return within_reason(linear);
  const double added = evaluate(weights_, inputs(now, linear), nullptr);
  return within_reason(linear + share * added * std::sqrt(speed_scale_.variance()));
}

/// What the linear part missed at this speed, in standard deviations, is what the layer learns.
void Narx::learn(const NodeState& then, double speed) {
  const double linear = linear_part(then);
  const auto forget = [](double& old, double value, double memory) { old += memory * (value - old); };
  for (std::size_t i = 0; i < linear_.size(); ++i) {
    const double error = (linear_[i] - speed) / speed;
    forget(linear_error_[i], error * error, kErrorMemory);
  }
  if (!speeds_.full() || !states_.full()) return;
  const double deviation =
      std::max(std::sqrt(speed_scale_.variance()), 1e-3 * std::abs(speed_scale_.mean()) + 1e-12);
  const double missed = std::clamp((speed - linear) / deviation, -6.0, 6.0);
  if (!std::isfinite(missed)) return;
  const Input input = inputs(then, linear);
  if (trained_) {
    const double added = evaluate(weights_, input, nullptr);
    forget(explained_, added * missed, kGateMemory);
    forget(power_, added * added, kGateMemory);
  }
  examples_.push({input, missed});
  if (++observed_ >= kWarmUp && observed_ % kEvery == 0) train();
}

void Narx::observe(const NodeState& then, double speed) {
  if (!(std::isfinite(speed) && speed > 0)) return;
  if (speeds_.size() > 0) learn(then, speed);
  speed_scale_.add(speed);
  cpu_scale_.add(then.cpu);
  memory_scale_.add(then.memory);
  stall_scale_.add(then.stall);
  level_.observe(then, speed);
  average_.observe(then, speed);
  arima_.observe(then, speed);
  arx_.observe(then, speed);
  speeds_.push(speed);
  states_.push(then);
}

}  // namespace mlq::balance
