// SPDX-License-Identifier: GPL-2.0-or-later
// NARX: a nonlinear autoregressive model with exogenous inputs.
// Source: LB-BSP (SoCC '20), section 3.2.1; delays, width and training are ours, the paper does not give
// them.
#pragma once

#include <Eigen/Core>

#include "core/balance/history.hpp"
#include "core/balance/linear_predictors.hpp"
#include "core/balance/speed.hpp"

namespace mlq::balance {

/// Series-parallel (fed with measured speeds), one hidden tanh layer beside a linear path, trained online by
/// Levenberg-Marquardt on a sliding window. Until its rolling error is below the moving average's, it answers
/// with that one.
class Narx final : public SpeedPredictor {
 public:
  Narx();
  double predict(const NodeState& now) override;
  void observe(const NodeState& then, double speed) override;
  std::string_view name() const override { return "narx"; }
  bool warmed_up() const { return trained_ && error_ < average_error_; }

 private:
  static constexpr int kSpeeds = 3, kStates = 2;  ///< delays; states include the present one
  static constexpr int kInputs = kSpeeds + 2 * kStates;
  static constexpr int kHidden = 6;
  static constexpr int kWeights = kHidden * (kInputs + 1) + kHidden + kInputs + 1;
  static constexpr int kWindow = 128, kWarmUp = 24, kEvery = 4;  ///< iterations

  using Input = Eigen::Matrix<double, kInputs, 1>;
  using Weights = Eigen::Matrix<double, kWeights, 1>;
  struct Example {
    Input input;
    double output;
  };

  Input inputs(const NodeState& now) const;
  double evaluate(const Weights& weights, const Input& input, Weights* gradient) const;
  double cost(const Weights& weights) const;
  void train();
  double to_units(double output) const;
  double raw_prediction(const NodeState& now) const;

  Weights weights_;
  Recent<double, kSpeeds> speeds_;
  Recent<NodeState, kStates> states_;
  Recent<Example, kWindow> examples_;
  RunningScale speed_scale_, cpu_scale_, memory_scale_;
  MovingAverage average_;
  double damping_ = 1e-2, error_ = 0, average_error_ = 0;
  unsigned observed_ = 0;
  bool trained_ = false;
};

}  // namespace mlq::balance
