// SPDX-License-Identifier: GPL-2.0-or-later
// Weighted least squares of floor + amplitude * shape(x; u) within bounds, by variable projection: for a
// given u floor and amplitude have a closed form, so that Levenberg-Marquardt has only u to look for (Golub
// and Pereyra 1973, with the Jacobian of Kaufman 1975). Fixed-size matrices, never the heap.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace mlq {

struct SolveOptions {
  int max_iterations = 100;
  double relative_decrease = 1e-9;  ///< stop when a step gains less than this share of the cost
  double initial_damping = 1e-3;
};

/// Shape as in models.hpp. x, y and weight (>= 0) have equal lengths of at most `Capacity` and must outlive
/// this.
template <class Shape, std::size_t Capacity>
class SeparableFit {
 public:
  static constexpr int kParameters = Shape::kParameters;
  using Vector = typename Shape::Vector;
  using Matrix = Eigen::Matrix<double, kParameters, kParameters>;

  /// What is best at some u.
  struct Point {
    Vector u;
    double floor = 0, amplitude = 0;  ///< floor within the bounds, amplitude >= 0
    double cost = HUGE_VAL;           ///< sum of weight * residual^2; finite when usable
    Vector gradient;                  ///< of cost / 2 by u
    Matrix hessian;                   ///< of cost / 2, the curvature of the shape left out
    bool usable() const { return std::isfinite(cost); }
  };

  SeparableFit(const Shape& shape, std::span<const double> x, std::span<const double> y,
               std::span<const double> weight, double lowest, double highest)
      : shape_(shape), x_(x), lowest_(lowest), highest_(highest) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      y_[i] = y[i];
      weight_[i] = weight[i];
      sum_w_ += weight[i];
      sum_y_ += weight[i] * y[i];
      sum_yy_ += weight[i] * y[i] * y[i];
    }
    pad(y_);
    pad(weight_);
  }

  /// Floor and amplitude for this u, which is first pulled into its bounds. What is not finite has an
  /// infinite cost.
  Point at(const Vector& wanted) {
    Point out;
    out.u = wanted.cwiseMax(Shape::lower()).cwiseMin(Shape::upper());
    if (!out.u.allFinite()) return out;
    const Sums sums = first_pass(out.u);
    const bool held = linear(sums, out);
    second_pass(sums, held, out);
    return out;
  }

  /// The same without derivatives and with a cost of fewer digits.
  Point roughly_at(const Vector& wanted) {
    Point out;
    out.u = wanted;
    const Sums t = first_pass(out.u);
    linear(t, out);
    const double level = out.floor + out.amplitude;
    const double cost = sum_yy_ + level * (level * sum_w_ - 2 * sum_y_) +
                        out.amplitude * (out.amplitude * t.ss + 2 * level * t.s - 2 * t.sy);
    if (std::isfinite(cost)) out.cost = cost;
    return out;
  }

  /// Improves `from`, which must be usable.
  Point solve(const Point& from, const SolveOptions& options) {
    Point at_best = from;
    double damping = options.initial_damping;
    // Many digits take many steps, of which the two measures below save a quarter; a rough search ends before
    // they tell.
    const bool exact = options.relative_decrease < 1e-6;
    for (int i = 0; i < options.max_iterations && damping < 1e12; ++i) {
      const Vector move = step(at_best, damping);
      const double foreseen = -at_best.gradient.dot(move);
      if (!(foreseen > options.relative_decrease * at_best.cost)) break;  // nothing more to gain
      Point there = at(at_best.u + move);
      if (!(there.cost < at_best.cost)) {
        damping = std::max(8 * damping, exact ? 1.0 : 0.0);  // less than 1 hardly shortens a step
        continue;
      }
      const bool done = at_best.cost - there.cost <= options.relative_decrease * at_best.cost;
      if (exact) sharpen(at_best, there);
      at_best = there;
      damping = std::max(damping * 0.15, 1e-12);
      if (done) break;
    }
    return at_best;
  }

 private:
  struct Sums {
    double s = 0, ss = 0, sy = 0;  ///< sums of weight times shape - 1, its square, its product with y
  };

  Sums first_pass(const Vector& u) {
    Sums sums;
    const std::size_t n = x_.size();
    std::array<std::span<double>, kParameters> slopes;
    for (std::size_t j = 0; j < slopes.size(); ++j) slopes[j] = {slopes_[j].data(), n};
    shape_.evaluate(x_, u, {shape_less_1_.data(), n}, slopes);
    pad(shape_less_1_);
    for (auto& slope : slopes_) pad(slope);
    Pair s = Pair::Zero(), ss = s, sy = s;
    for (std::size_t i = 0; i < n; i += 2) {
      const Pair less_1 = pair(shape_less_1_, i), ws = pair(weight_, i) * less_1;
      s += ws;
      ss += ws * less_1;
      sy += ws * pair(y_, i);
    }
    sums = {s.sum(), ss.sum(), sy.sum()};
    return sums;
  }

  // True when the floor is at a bound.
  bool linear(const Sums& t, Point& out) const {
    const double spread = sum_w_ * t.ss - t.s * t.s;
    out.amplitude = spread > 1e-14 * sum_w_ * t.ss ? (sum_w_ * t.sy - t.s * sum_y_) / spread : 0;
    if (!(out.amplitude > 0)) {
      out.amplitude = 0;
      out.floor = std::clamp(sum_y_ / sum_w_, lowest_, highest_);
      return true;
    }
    out.floor = (sum_y_ - out.amplitude * t.s) / sum_w_ - out.amplitude;
    if (out.floor >= lowest_ && out.floor <= highest_) return false;
    out.floor = out.floor < lowest_ ? lowest_ : highest_;
    out.amplitude = (sum_y_ + t.sy - out.floor * (sum_w_ + t.s)) / (sum_w_ + 2 * t.s + t.ss);
    out.amplitude = std::max(out.amplitude, 0.0);
    return true;
  }

  // Cost and derivatives from the residuals themselves: differences of the sums would lose the last digits.
  void second_pass(const Sums& t, bool held, Point& out) const {
    constexpr int kSums = 1 + 3 * kParameters + kParameters * (kParameters + 1) / 2;
    std::array<Pair, kSums> sums;
    sums.fill(Pair::Zero());
    const double level = out.floor + out.amplitude;
    for (std::size_t i = 0; i < x_.size(); i += 2) {
      const Pair s = pair(shape_less_1_, i), weight = pair(weight_, i);
      const Pair r = level + out.amplitude * s - pair(y_, i), wr = weight * r;
      std::size_t at = 0;
      sums[at++] += wr * r;
      for (int j = 0; j < kParameters; ++j) {
        const Pair slope = pair(slopes_[j], i), w = weight * slope;
        sums[at++] += wr * slope;
        sums[at++] += w;
        sums[at++] += w * s;
        for (int k = 0; k <= j; ++k) sums[at++] += w * pair(slopes_[k], i);
      }
    }
    std::size_t at = 0;
    const double cost = sums[at++].sum();
    double gradient[kParameters], with_1[kParameters], with_s[kParameters], product[kParameters][kParameters];
    for (int j = 0; j < kParameters; ++j) {
      gradient[j] = sums[at++].sum();
      with_1[j] = sums[at++].sum();
      with_s[j] = sums[at++].sum();
      for (int k = 0; k <= j; ++k) product[j][k] = sums[at++].sum();
    }
    const double spread = held ? sum_w_ + 2 * t.s + t.ss : sum_w_ * t.ss - t.s * t.s;
    double all = cost;
    for (int j = 0; j < kParameters; ++j) {
      all += out.gradient[j] = out.amplitude * gradient[j];
      for (int k = 0; k <= j; ++k) {
        const double explained =  // by what floor and amplitude do in answer
            held ? (with_1[j] + with_s[j]) * (with_1[k] + with_s[k])
                 : t.ss * with_1[j] * with_1[k] - t.s * (with_1[j] * with_s[k] + with_s[j] * with_1[k]) +
                       sum_w_ * with_s[j] * with_s[k];
        const double rest =
            std::max(product[j][k] - explained / spread, j == k ? 1e-9 * product[j][k] : -HUGE_VAL);
        all += out.hessian(j, k) = out.hessian(k, j) = out.amplitude * out.amplitude * rest;
      }
    }
    out.cost = std::isfinite(all) ? cost : HUGE_VAL;
  }

  // With one parameter two gradients tell the curvature that the hessian leaves out.
  static void sharpen(const Point& from, Point& to) {
    if constexpr (kParameters == 1) {
      const double curvature = (to.gradient[0] - from.gradient[0]) / (to.u[0] - from.u[0]);
      if (curvature > 0.2 * to.hessian(0, 0) && curvature < 5 * to.hessian(0, 0))
        to.hessian(0, 0) = curvature;
    }
  }

  // The least of the damped quadratic model within the bounds: a parameter that would leave them goes to its
  // bound and the other is solved for again. Merely clipping the step would lead off a narrow valley.
  static Vector step(const Point& from, double damping) {
    Matrix damped = from.hessian;
    for (int i = 0; i < kParameters; ++i) damped(i, i) += damping * damped(i, i) + 1e-300;
    Vector move = damped.inverse() * -from.gradient;
    if constexpr (kParameters == 1)  // at its bound nothing is left to gain, and the search ends
      move[0] = std::clamp(from.u[0] + move[0], Shape::lower()[0], Shape::upper()[0]) - from.u[0];
    if constexpr (kParameters == 2) {
      for (int i = 0; i < 2; ++i) {
        const double within =
            std::clamp(from.u[i] + move[i], Shape::lower()[i], Shape::upper()[i]) - from.u[i];
        if (within == move[i]) continue;
        move[i] = within;
        move[1 - i] = -(from.gradient[1 - i] + damped(0, 1) * within) / damped(1 - i, 1 - i);
      }
    }
    return move;
  }

  // Sums run over two points at a time, which the processor adds up in one go; an odd count is filled up with
  // nothing.
  using Pair = Eigen::Array2d;
  using Values = std::array<double, Capacity + 1>;
  static Pair pair(const Values& values, std::size_t i) { return Eigen::Map<const Pair>(values.data() + i); }
  void pad(Values& values) const { values[x_.size()] = 0; }

  Shape shape_;
  std::span<const double> x_;
  double lowest_, highest_, sum_w_ = 0, sum_y_ = 0, sum_yy_ = 0;
  Values y_, weight_, shape_less_1_;
  std::array<Values, kParameters> slopes_;
};

}  // namespace mlq
