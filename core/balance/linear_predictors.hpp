// SPDX-License-Identifier: GPL-2.0-or-later
// Predictors that are linear in what they know: last value, EMA, ARIMA and ARX.
#pragma once

#include <Eigen/Core>

#include "core/balance/history.hpp"
#include "core/balance/speed.hpp"

namespace mlq::balance {

class LastValue final : public SpeedPredictor {
 public:
  double predict(const NodeState&) override { return last_; }
  void observe(const NodeState&, double speed) override;
  std::string_view name() const override { return "last"; }

 private:
  double last_ = 0;
};

/// Exponential moving average, v <- v + alpha (speed - v).
class MovingAverage final : public SpeedPredictor {
 public:
  explicit MovingAverage(double alpha = 0.3) : alpha_(alpha) {}
  double predict(const NodeState&) override { return mean_; }
  void observe(const NodeState&, double speed) override;
  std::string_view name() const override { return "ema"; }

 private:
  double alpha_, mean_ = 0;
};

/// The mean since the last change of level: in a steady stretch it loses the noise, and a two-sided CUSUM
/// test on the deviations (Page, 1954) tells when another one has begun.
class Level final : public SpeedPredictor {
 public:
  double predict(const NodeState&) override { return mean_; }
  void observe(const NodeState&, double speed) override;
  std::string_view name() const override { return "level"; }
  unsigned changes() const { return changes_; }

 private:
  static constexpr std::size_t kBack = 32;  ///< iterations that a change may lie back
  void restart(std::size_t since);

  Recent<double, kBack> speeds_;
  double mean_ = 0, step_ = 0;    ///< step_: mean square of the relative steps between neighbours
  double above_ = 0, below_ = 0;  ///< sums of the test, in deviations
  std::size_t count_ = 0;         ///< of the mean
  std::size_t since_above_ = 0, since_below_ = 0;  ///< since each sum left 0
  unsigned changes_ = 0;
};

/// Recursive least squares with forgetting, in a fixed workspace.
template <int N>
class RecursiveLeastSquares {
 public:
  using Vector = Eigen::Matrix<double, N, 1>;

  explicit RecursiveLeastSquares(double forgetting) : forgetting_(forgetting) { reset(); }
  void reset() {
    theta_.setZero();
    covariance_.setIdentity();
    covariance_ *= 100;
  }
  double predict(const Vector& x) const { return theta_.dot(x); }
  void update(const Vector& x, double y) {
    const Vector px = covariance_ * x;
    const double denominator = forgetting_ + x.dot(px);
    theta_ += px * ((y - theta_.dot(x)) / denominator);
    covariance_ = (covariance_ - px * px.transpose() / denominator) / forgetting_;
    // Forgetting inflates directions that are never excited; bounded so that it cannot overflow.
    if (!covariance_.allFinite() || covariance_.trace() > 1e6 * N) reset_covariance();
    if (!theta_.allFinite()) reset();
  }

 private:
  void reset_covariance() {
    covariance_.setIdentity();
    covariance_ *= 100;
  }

  double forgetting_;
  Vector theta_;
  Eigen::Matrix<double, N, N> covariance_;
};

/// ARIMA(2,1,1) by recursive conditional least squares (the innovations of past predictions stand for the
/// noise terms).
class Arima final : public SpeedPredictor {
 public:
  double predict(const NodeState&) override;
  void observe(const NodeState&, double speed) override;
  std::string_view name() const override { return "arima"; }

 private:
  RecursiveLeastSquares<3>::Vector inputs() const;

  RecursiveLeastSquares<3> model_{0.995};
  Recent<double, 3> speeds_;
  double innovation_ = 0;
};

/// Linear in the last two speeds, and in the node's state now and before.
class Arx final : public SpeedPredictor {
 public:
  double predict(const NodeState& now) override;
  void observe(const NodeState& then, double speed) override;
  std::string_view name() const override { return "arx"; }

 private:
  static constexpr int kInputs = 7;
  RecursiveLeastSquares<kInputs>::Vector inputs(const NodeState& now) const;

  RecursiveLeastSquares<kInputs> model_{0.99};
  Recent<double, 2> speeds_;
  NodeState before_;
  RunningScale speed_scale_, cpu_scale_, memory_scale_;
};

}  // namespace mlq::balance
