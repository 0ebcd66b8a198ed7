// SPDX-License-Identifier: GPL-2.0-or-later
// The shapes of the curve families. Each family is floor + amplitude * shape(x; u), amplitude >= 0, where the
// shape is 1 at a reference, so that floor + amplitude is the curve's level there. Losses of order 1,
// abscissae x > 0. evaluate() gives the shape minus 1 at every x, and its derivatives by u; all spans are of
// one length.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace mlq {

using ArrayView = Eigen::Map<Eigen::ArrayXd>;
using ConstArrayView = Eigen::Map<const Eigen::ArrayXd>;

inline ArrayView view(std::span<double> values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}
inline ConstArrayView view(std::span<const double> values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

/// 1/(1 + u (x - 1)(1 + v x)), u and v in [0, 1]: with the amplitude A it is SLAQ's 1/(a x^2 + b x + c) + d
/// (section 3.1) with a = u v / A, b = u (1 - v) / A and c = (1 - u) / A, which are all >= 0. Parameters u,
/// v.
struct SublinearShape {
  static constexpr int kParameters = 2;
  using Vector = Eigen::Vector2d;
  static Vector lower() { return {0, 0}; }
  static Vector upper() { return {1 - 1e-9, 1}; }
  static void evaluate(std::span<const double> xs, const Vector& p, std::span<double> less_1,
                       std::array<std::span<double>, 2> slopes) {
    const ConstArrayView x = view(xs);
    ArrayView by_u = view(slopes[0]), by_v = view(slopes[1]), s = view(less_1);
    s = (x - 1) * (1 + p[1] * x);
    by_v = 1 / (1 + p[0] * s);
    by_u = -s * by_v.square();
    s *= -p[0] * by_v;
    by_v = -p[0] * (x - 1) * x * by_v.square();
  }
};

/// 1/(1 + u (x - 1)), u in [0, 1]: with the amplitude A it is 1/(b x + c) + d with b = u / A, c = (1 - u) /
/// A.
struct HyperbolaShape {
  static constexpr int kParameters = 1;
  using Vector = Eigen::Matrix<double, 1, 1>;
  static Vector lower() { return Vector(0.0); }
  static Vector upper() { return Vector(1 - 1e-9); }
  static void evaluate(std::span<const double> xs, const Vector& p, std::span<double> less_1,
                       std::array<std::span<double>, 1> slopes) {
    const ConstArrayView x = view(xs);
    ArrayView by_u = view(slopes[0]), s = view(less_1);
    s = 1 / (1 + p[0] * (x - 1));
    by_u = (1 - x) * s.square();
    s *= p[0] * (1 - x);
  }
};

/// exp(-r (x - newest x)), parameter ln r. With x the iteration this is SLAQ's mu^(k-b) + c, where r = -ln
/// mu, without its b >= 0, which ties the amplitude to the unit of the loss; with x = ln k it is the power
/// law A k^-r + c.
struct ExponentialShape {
  static constexpr int kParameters = 1;
  using Vector = Eigen::Matrix<double, 1, 1>;
  static constexpr double kSteepest = 300;  ///< larger exponents are taken for this: squares stay finite
  bool even = false;                        ///< all x are equally far apart, so that one factor leads on
  static Vector lower() { return Vector(-15.0); }
  static Vector upper() { return Vector(15.0); }
  void evaluate(std::span<const double> xs, const Vector& p, std::span<double> less_1,
                std::array<std::span<double>, 1> slopes) const {
    const double rate = std::exp(p[0]);
    ArrayView exponent = view(slopes[0]), s = view(less_1);
    exponent = (rate * (xs.back() - view(xs))).min(kSteepest);
    if (even && xs.size() > 1 && exponent[0] < kSteepest) {
      const double factor = std::exp(exponent[s.size() - 2]);
      s[s.size() - 1] = 1;
      for (Eigen::Index i = s.size() - 1; i > 0; --i) s[i - 1] = s[i] * factor;
    } else {
      s = exponent.exp();
    }
    exponent *= s;
    s -= 1;
  }
};

}  // namespace mlq
