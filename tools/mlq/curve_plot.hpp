// SPDX-License-Identifier: GPL-2.0-or-later
// Draws a curve and what is foreseen of it with gnuplot.
#pragma once

#include <string>
#include <vector>

#include "tools/mlq/curve_file.hpp"

namespace mlq::cli {

struct PlotPoint {
  double step = 0, predicted = 0, lower = 0, upper = 0;
};

/// The future of each origin, from the origin on.
using PlotFuture = std::vector<PlotPoint>;

/// To a PNG file, or as characters on stdout when `png` is empty. Returns what went wrong, empty when
/// nothing.
std::string plot_curve(const std::string& title, const std::vector<CurveRow>& rows,
                       const std::vector<PlotFuture>& futures, const std::string& png);

}  // namespace mlq::cli
