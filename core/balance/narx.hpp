// SPDX-License-Identifier: GPL-2.0-or-later
// NARX: a nonlinear autoregressive model with exogenous inputs.
// Source: LB-BSP (SoCC '20), section 3.2.1; delays, width and training are ours, the paper does not give
// them.
#pragma once

#include <Eigen/Core>
#include <array>

#include "core/balance/history.hpp"
#include "core/balance/linear_predictors.hpp"
#include "core/balance/speed.hpp"

namespace mlq::balance {

/// Series-parallel (fed with measured speeds): one hidden tanh layer on top of a linear part, which is the
/// mean of level, EMA, ARIMA and ARX weighted by the inverse of their rolling squared errors. The layer is
/// trained online by Levenberg-Marquardt, with a ridge, on what the linear part misses over a sliding window.
/// Its output is shrunk by the regression of those misses on it: where the layer explains nothing, nothing of
/// it is added.
class Narx final : public SpeedPredictor {
 public:
  Narx();
  double predict(const NodeState& now) override;
  void observe(const NodeState& then, double speed) override;
  std::string_view name() const override { return "narx"; }
  /// How much of the layer's output counts, 0-1.
  double shrinkage() const;

 private:
  static constexpr int kSpeeds = 3, kStates = 2;  ///< delays; states include the present one
  static constexpr int kInputs = kSpeeds + 3 * kStates + 1;
  static constexpr int kHidden = 6;
  static constexpr int kWeights = kHidden * (kInputs + 1) + kHidden + 1;
  static constexpr int kWindow = 128, kWarmUp = 24, kEvery = 8;  ///< iterations

  using Input = Eigen::Matrix<double, kInputs, 1>;
  using Weights = Eigen::Matrix<double, kWeights, 1>;
  struct Example {
    Input input;
    double output;
  };

  double linear_part(const NodeState& now);
  Input inputs(const NodeState& now, double linear) const;
  double evaluate(const Weights& weights, const Input& input, Weights* gradient) const;
  double cost(const Weights& weights) const;
  void train();
  void learn(const NodeState& then, double speed);
  double within_reason(double speed) const;

  MovingAverage average_;
  Arima arima_;
  Arx arx_;
  Level level_;
  std::array<double, 4> linear_{}, linear_error_{};
  Weights weights_;
  Recent<double, kSpeeds> speeds_;
  Recent<NodeState, kStates> states_;
  Recent<Example, kWindow> examples_;
  RunningScale speed_scale_, cpu_scale_, memory_scale_, stall_scale_;
  double damping_ = 1e-2, explained_ = 0, power_ = 0;
  unsigned observed_ = 0;
  bool trained_ = false;
};

}  // namespace mlq::balance
