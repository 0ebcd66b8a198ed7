// SPDX-License-Identifier: GPL-2.0-or-later
// One curve family fitted to a window, in the units of the costs.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

namespace mlq {

enum class Family : std::uint8_t {
  sublinear,    ///< 1/(a k^2 + b k + c) + d, SLAQ 3.1; a, b, c >= 0, d below the data
  hyperbola,    ///< 1/(a k + b) + c
  exponential,  ///< mu^(k-b) + c, SLAQ 3.1, without its b >= 0, which ties the amplitude to the unit of the
                ///< loss
  power,        ///< A k^-p + c
};
inline constexpr int kFamilies = 4;
const char* name_of(Family family) noexcept;

/// Where the scaled coordinates of a fit lie.
struct Frame {
  double origin = 1;  ///< k of x = 0 in points, >= 1; the abscissa is t = (origin + x)/origin in (0, 1]
  double base = 0;    ///< smallest cost of the window
  double scale = 1;   ///< range of the costs, > 0
};

/// A fitted curve. Parameters are those of models.hpp, in the frame's coordinates.
struct FamilyFit {
  Family family = Family::exponential;
  Frame frame;
  Eigen::Vector4d p = Eigen::Vector4d::Zero();
  double cost = 0;  ///< sum of weight * residual^2 in scaled units
  bool usable = false;

  /// Cost `ahead` points after x = 0 (negative: before). Finite when usable.
  double value(double ahead) const;
  /// Where the curve ends. Finite when usable.
  double floor() const;
};

/// The frame of a window of n >= 1 points (x rising to about 0) of a run whose newest point is number `age`.
Frame frame_of(std::span<const double> x, std::span<const double> y, double age);

/// Weighted least squares; needs at least 5 points and a positive range, otherwise the result is not usable.
/// `start`, when usable and of the same family, is where the solver begins (a warm start).
FamilyFit fit_family(Family family, const Frame& frame, std::span<const double> x, std::span<const double> y,
                     std::span<const double> weight, const FamilyFit* start = nullptr);

}  // namespace mlq
