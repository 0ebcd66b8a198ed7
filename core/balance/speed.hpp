// SPDX-License-Identifier: GPL-2.0-or-later
// Predicts a rank's speed in the coming iteration from its past speeds and from the state of its node.
// Source: LB-BSP (SoCC '20), section 3.2.1; the baselines are the ones its authors compare with.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace mlq::balance {

/// State of the node as the iteration starts, any units as long as they stay the same.
struct NodeState {
  double cpu = 0;     ///< share of the rank's cores that it can have, for example 0-1
  double memory = 0;  ///< available memory
  double stall = 0;   ///< share of the time the rank wanted to run that it waited for a core, 0-1
};

/// Call predict() with the state before an iteration, then observe() with the same state and what came of it.
/// Never throws; a prediction is finite and > 0 once a speed was seen, 0 before.
class SpeedPredictor {
 public:
  virtual ~SpeedPredictor() = default;
  virtual double predict(const NodeState& now) = 0;               ///< samples/s
  virtual void observe(const NodeState& then, double speed) = 0;  ///< speed > 0; anything else is ignored
  virtual std::string_view name() const = 0;
};

/// Names in the order of preference when two do equally well.
std::span<const std::string_view> speed_predictor_names();

/// level, last, ema, arima, arx, narx or best; null for another name.
std::unique_ptr<SpeedPredictor> make_speed_predictor(std::string_view name);

/// Follows the member with the least rolling regret: the time an equal-finish split would lose by its errors.
/// A rank predicted too fast by a factor f holds the others up by f - 1; one predicted too slow only idles a
/// share of itself.
class BestPredictor final : public SpeedPredictor {
 public:
  explicit BestPredictor(std::vector<std::unique_ptr<SpeedPredictor>> members);
  double predict(const NodeState& now) override;
  void observe(const NodeState& then, double speed) override;
  std::string_view name() const override { return "best"; }
  std::string_view chosen() const;

 private:
  std::vector<std::unique_ptr<SpeedPredictor>> members_;
  std::vector<double> predictions_, regrets_;
  std::size_t chosen_ = 0;
};

}  // namespace mlq::balance
