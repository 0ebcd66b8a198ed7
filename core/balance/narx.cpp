// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/narx.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace mlq::balance {
namespace {

// Ridge on the weights: the window is short, and the linear path should win where nothing is curved.
constexpr double kRidge = 1e-3;
constexpr double kErrorMemory = 0.05;

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

Narx::Input Narx::inputs(const NodeState& now) const {
  Input input;
  int at = 0;
  for (int i = 0; i < kSpeeds; ++i) input[at++] = standardised(speeds_[i], speed_scale_);
  input[at++] = standardised(now.cpu, cpu_scale_);
  for (int i = 0; i + 1 < kStates; ++i) input[at++] = standardised(states_[i].cpu, cpu_scale_);
  input[at++] = standardised(now.memory, memory_scale_);
  for (int i = 0; i + 1 < kStates; ++i) input[at++] = standardised(states_[i].memory, memory_scale_);
  return input;
}

/// Layout of the weights: per hidden unit its inputs and bias; output weights; linear path; output bias.
double Narx::evaluate(const Weights& weights, const Input& input, Weights* gradient) const {
  constexpr int kOutput = kHidden * (kInputs + 1), kLinear = kOutput + kHidden;
  double sum = weights[kWeights - 1] + weights.segment<kInputs>(kLinear).dot(input);
  if (gradient) {
    gradient->segment<kInputs>(kLinear) = input;
    (*gradient)[kWeights - 1] = 1;
  }
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

double Narx::to_units(double output) const {
  const double speed = speed_scale_.mean() + output * std::sqrt(speed_scale_.variance());
  const double last = speeds_[0];
  return std::isfinite(speed) ? std::clamp(speed, 0.1 * last, 10 * last) : last;
}

double Narx::raw_prediction(const NodeState& now) const {
  return to_units(evaluate(weights_, inputs(now), nullptr));
}

double Narx::predict(const NodeState& now) {
  if (!warmed_up() || !speeds_.full() || !states_.full()) return average_.predict(now);
  return raw_prediction(now);
}

void Narx::observe(const NodeState& then, double speed) {
  if (!(std::isfinite(speed) && speed > 0)) return;
  if (speeds_.full() && states_.full()) {
    const auto forget = [](double old, double error) { return old + kErrorMemory * (error * error - old); };
    error_ = forget(error_, trained_ ? raw_prediction(then) - speed : speed);
    average_error_ = forget(average_error_, average_.predict(then) - speed);
    examples_.push({inputs(then), standardised(speed, speed_scale_)});
    if (++observed_ >= kWarmUp && observed_ % kEvery == 0) train();
  }
  speed_scale_.add(speed);
  cpu_scale_.add(then.cpu);
  memory_scale_.add(then.memory);
  average_.observe(then, speed);
  speeds_.push(speed);
  states_.push(then);
}

}  // namespace mlq::balance
