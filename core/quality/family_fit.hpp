// SPDX-License-Identifier: GPL-2.0-or-later
// The curve families fitted to a window that was brought to coordinates of order 1.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <span>

#include "core/quality/separable_fit.hpp"
#include "core/quality/window.hpp"

namespace mlq {

enum class Family : std::uint8_t {
  sublinear,    ///< 1/(a k^2 + b k + c) + d, SLAQ 3.1; a, b, c >= 0, d below the data
  exponential,  ///< mu^(k-b) + c, SLAQ 3.1, without its b >= 0, which ties the amplitude to the unit of the
                ///< loss
  hyperbola,    ///< 1/(a k + b) + c
  power,        ///< A k^-p + c
};
inline constexpr std::array kFamilies{Family::sublinear, Family::exponential, Family::hyperbola,
                                      Family::power};
const char* name_of(Family family) noexcept;

/// k is the number of a point of the run, from 1. t = (k - shift)/origin, y' = (y - base)/scale.
struct Frame {
  double shift = 0, origin = 1, base = 0, scale = 1;
  double time(double k) const;
  bool operator==(const Frame&) const = default;
};

/// The newest points of a window in a frame, oldest first.
struct ScaledWindow {
  Frame frame;
  double lowest = 0;  ///< y' no curve is expected to go below
  std::size_t count = 0;
  std::array<double, Window::kCapacity> k{}, t{}, log_k{}, y{};
};

/// `previous`, a frame of the same run at the same spacing, is kept while it still suits, so that fits can
/// start from the last ones. The range of y is that of the newest points; not usable (count = 0) when they
/// are all the same.
ScaledWindow scale(const Window& window, const Frame* previous = nullptr);

/// A fitted curve, in the frame's coordinates. p is a, b, c, d of the sublinear family, b, c, d of the
/// hyperbola, and q, r, c of exp(q - r x) + c for the other two.
struct FamilyFit {
  Eigen::Vector4d p = Eigen::Vector4d::Zero();
  double cost = 0;  ///< sum of weight * residual^2
  bool usable = false;
};

/// y' at point number k >= 0 of the run. Finite for a usable fit.
double value_at(Family family, const Frame& frame, const FamilyFit& fit, double k);
/// Where the curve ends, y'.
double floor_of(Family family, const FamilyFit& fit);

struct FitRange {
  std::size_t end = 0;     ///< one past the newest point
  std::size_t length = 0;  ///< points used at most
  double decay = 1;        ///< weight of a point against the next one, 0 < decay <= 1
};

/// What the solver is given; empty when there are too few points.
struct FitProblem {
  std::span<const double> x, y;
  std::array<double, Window::kCapacity> weights;  // the first x.size() count
  double lowest = 0, highest = 1;                 ///< bounds of the floor
  bool even = false;                              ///< the points are a step of 1 apart
  std::span<const double> weight() const { return {weights.data(), x.size()}; }
};
FitProblem problem_of(Family family, const ScaledWindow& window, const FitRange& range);

/// Weighted least squares within bounds over the range; usable from 5 points on. Starts from `start` when
/// that is given and usable (in the same frame), otherwise from the best point of a coarse grid.
FamilyFit fit_family(Family family, const ScaledWindow& window, const FitRange& range, const FamilyFit* start,
                     const SolveOptions& options);

}  // namespace mlq
