// SPDX-License-Identifier: GPL-2.0-or-later
// A loss curve in a few lines of characters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/mlq/job_view.hpp"

namespace mlq::cli {

struct SketchSize {
  std::size_t columns = 60;  ///< of the whole line, the axis' labels included; at least 30
  std::size_t lines = 10;    ///< of the plot; at least 3
};

/// '*' mean of the reported losses of a column, 'o' the predicted loss, '|' its interval. The axis of losses
/// is logarithmic when they span more than a factor of 20. Nothing when fewer than two points can be drawn.
std::vector<std::string> sketch(const std::vector<CurvePoint>& points, const ForecastView& forecast,
                                SketchSize size);

}  // namespace mlq::cli
