// SPDX-License-Identifier: GPL-2.0-or-later
// The curve families, each with its analytic Jacobian, in scaled coordinates: x > 0 and losses of order 1.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace mlq {

/// 1/(a x^2 + b x + c) + d: first-order methods, O(1/k) and O(1/k^2) (SLAQ, section 3.1). p = a, b, c, d.
struct Sublinear {
  static constexpr int kParameters = 4;
  using Vector = Eigen::Matrix<double, 4, 1>;
  double operator()(double x, const Vector& p, Vector& jacobian) const {
    const double q = 1 / ((p[0] * x + p[1]) * x + p[2]);
    const double q2 = -q * q;
    jacobian << q2 * x * x, q2 * x, q2, 1;
    return q + p[3];
  }
};

/// 1/(b x + c) + d. p = b, c, d.
struct Hyperbola {
  static constexpr int kParameters = 3;
  using Vector = Eigen::Matrix<double, 3, 1>;
  double operator()(double x, const Vector& p, Vector& jacobian) const {
    const double q = 1 / (p[0] * x + p[1]);
    const double q2 = -q * q;
    jacobian << q2 * x, q2, 1;
    return q + p[2];
  }
};

/// exp(q - r x) + c. With x the iteration this is SLAQ's mu^(k-b) + c, where r = -ln mu and q = r b, when q
/// is bounded by b >= 0, and the free-amplitude exponential otherwise; with x = ln k it is the power law A
/// k^-r + c. p = q, r, c.
struct Exponential {
  static constexpr int kParameters = 3;
  using Vector = Eigen::Matrix<double, 3, 1>;
  double operator()(double x, const Vector& p, Vector& jacobian) const {
    const double e = std::exp(std::min(p[0] - p[1] * x, 300.0));
    jacobian << e, -e * x, 1;
    return e + p[2];
  }
};

}  // namespace mlq
