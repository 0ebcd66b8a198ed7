// SPDX-License-Identifier: GPL-2.0-or-later
// The newest part of a history, as the predictor sees it: finite costs, positions counted in points.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/quality/history.hpp"

namespace mlq {

/// Positions are in points (iterations over the usual spacing of reports), relative to the newest finite
/// point: x[count - 1] = 0, rising. Values are costs.
struct Window {
  static constexpr std::size_t kCapacity = 128;
  std::array<double, kCapacity> x{}, y{};
  std::size_t count = 0;
  double spacing = 1;  ///< iterations between two reports, the median of the newest; > 0
  double age = 1;  ///< k of the newest point, >= 1: points since the beginning of the run, the first being 1
  double range = 0;          ///< of all costs of the run
  bool nonnegative = false;  ///< no cost of the run was ever below 0, so none is expected to be
  double since = 0;  ///< iterations reported after the newest finite point (non-finite ones), in points

  std::span<const double> xs() const { return {x.data(), count}; }
  std::span<const double> ys() const { return {y.data(), count}; }
};

/// Takes the newest finite points of the history.
Window newest(const History& history);

/// Where the newest segment of a curve begins: the last index at which the level jumps, by more than `jump`
/// times the median step on both sides, to where none of the points before was and all of the three or more
/// after stay. A lower learning rate, a resumed or appended run; 0 when there is none.
std::size_t segment_start(std::span<const double> values, double jump);

/// Leaves only the points from `first` on.
void restart(Window& window, std::size_t first);

/// Median of the values; 0 for none. Reorders them.
double median_of(std::span<double> values);

/// Causal running median: of the newest three values (fewer when there are fewer), the smoothed present.
double smoothed_present(std::span<const double> values);

/// Standard deviation of the noise about a smooth curve, from second differences by their median: robust to
/// spikes and blind to the trend. 0 for fewer than 4 values.
double noise_of(std::span<const double> values);

}  // namespace mlq
