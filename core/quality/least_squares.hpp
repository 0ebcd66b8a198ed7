// SPDX-License-Identifier: GPL-2.0-or-later
// Weighted least squares within bounds, by Levenberg-Marquardt on fixed-size matrices. Never uses the heap.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <span>

namespace mlq {

struct SolveOptions {
  int max_iterations = 100;
  double relative_decrease = 1e-9;  ///< stop when an accepted step gains less than this share of the cost
  double initial_damping = 1e-3;
};

struct SolveSummary {
  double cost = 0;  ///< sum of weight * residual^2 at the end; finite when usable
  int iterations = 0;
  bool usable = false;  ///< a finite point was found
};

/// A Model has `static constexpr int kParameters` and `double operator()(double x, const Vector& p, Vector&
/// jacobian) const`, which returns f(x; p) and fills df/dp. A value that is not finite refuses the step that
/// led there.
template <class Model>
class LeastSquares {
 public:
  static constexpr int kParameters = Model::kParameters;
  using Vector = Eigen::Matrix<double, kParameters, 1>;
  using Matrix = Eigen::Matrix<double, kParameters, kParameters>;

  LeastSquares(const Model& model, const Vector& lower, const Vector& upper)
      : model_(model), lower_(lower), upper_(upper) {}

  /// Improves `p`, which is first pulled into the bounds. x, y, weight (>= 0) have equal lengths.
  SolveSummary solve(std::span<const double> x, std::span<const double> y, std::span<const double> weight,
                     Vector& p, const SolveOptions& options = {}) {
    SolveSummary summary;
    p = p.cwiseMax(lower_).cwiseMin(upper_);
    Normal at;
    if (!p.allFinite() || !normal(x, y, weight, p, at)) return summary;
    summary.usable = true;
    double damping = options.initial_damping;
    for (; summary.iterations < options.max_iterations && at.cost > 0; ++summary.iterations) {
      const Vector next = step(p, at, damping);
      Normal there;
      if (!next.allFinite() || !normal(x, y, weight, next, there) || !(there.cost < at.cost)) {
        damping *= 8;
        if (damping > 1e12) break;
        continue;
      }
      const double gained = at.cost - there.cost;
      const bool done = gained <= options.relative_decrease * at.cost;
      p = next;
      at = there;
      damping = std::max(damping * 0.15, 1e-12);
      if (done) break;
    }
    summary.cost = at.cost;
    return summary;
  }

 private:
  struct Normal {
    Matrix hessian;   ///< J'WJ
    Vector gradient;  ///< J'Wr, r = f - y
    double cost = 0;
  };

  // Sums over the points, the lower triangle alone, in plain numbers: this loop is where a fit spends its
  // time.
  bool normal(std::span<const double> x, std::span<const double> y, std::span<const double> weight,
              const Vector& p, Normal& out) const {
    double hessian[kParameters * (kParameters + 1) / 2] = {}, gradient[kParameters] = {}, cost = 0;
    Vector jacobian;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double r = model_(x[i], p, jacobian) - y[i];
      const double w = weight[i];
      cost += w * r * r;
      int at = 0;
#pragma GCC unroll 4
      for (int row = 0; row < kParameters; ++row) {
        const double scaled = w * jacobian[row];
        gradient[row] += scaled * r;
#pragma GCC unroll 4
        for (int column = 0; column <= row; ++column) hessian[at++] += scaled * jacobian[column];
      }
    }
    double sum = cost;
    int at = 0;
    for (int row = 0; row < kParameters; ++row) {
      sum += gradient[row];
      out.gradient[row] = gradient[row];
      for (int column = 0; column <= row; ++column, ++at) {
        sum += hessian[at];
        out.hessian(row, column) = out.hessian(column, row) = hessian[at];
      }
    }
    out.cost = cost;
    return std::isfinite(sum);  // one term that is not finite makes the sum so
  }

  // A parameter at its bound which the gradient pushes outward stays there for this step.
  Vector step(const Vector& p, const Normal& at, double damping) const {
    Matrix a = at.hessian;
    Vector g = at.gradient;
    const double floor = 1e-12 * std::max(a.diagonal().maxCoeff(), 1e-300);
    for (int i = 0; i < kParameters; ++i) {
      a(i, i) += damping * std::max(a(i, i), floor);
      const bool held = (p[i] <= lower_[i] && g[i] > 0) || (p[i] >= upper_[i] && g[i] < 0);
      if (!held) continue;
      a.row(i).setZero();
      a.col(i).setZero();
      a(i, i) = 1;
      g[i] = 0;
    }
    const Vector move =
        a.inverse() * g;  // closed form up to 4x4; a singular one is not finite and is refused
    return (p - move).cwiseMax(lower_).cwiseMin(upper_);
  }

  const Model& model_;
  Vector lower_, upper_;
};

}  // namespace mlq
