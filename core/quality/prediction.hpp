// SPDX-License-Identifier: GPL-2.0-or-later
// What is foreseen of a window: the whole future curve with its uncertainty.
#pragma once

#include "core/quality/curve.hpp"
#include "core/quality/horizon.hpp"
#include "core/quality/portfolio.hpp"
#include "core/quality/window.hpp"

namespace mlq {

/// In the units of the costs; every number finite. Kept for every job, so the tables are small.
struct Prediction {
  double now = 0;    ///< smoothed present
  double level = 0;  ///< where the trend stands at the newest point; reductions are counted from here
  /// Expected cost at a horizon (in points) minus `level`.
  double change(double h) const { return unit * changes.at(h); }
  /// Half of the 80 % interval, >= 0.
  double spread(double h) const { return unit * spreads.at(h); }
  double unit = 1;  ///< of the tables
  SmallHorizonTable changes, spreads;
  double lowest = 0;  ///< no interval reaches below
  const char* model = "none";
  Verdict verdict = Verdict::no_data;
};

/// Bounded time; whatever the window holds, nothing that is not finite comes out.
Prediction predict(const Window& window, Portfolio::Memory& memory, const Tuning& tuning);

}  // namespace mlq
