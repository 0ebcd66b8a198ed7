// SPDX-License-Identifier: GPL-2.0-or-later
// What is foreseen of a window: the whole future curve with its uncertainty.
#pragma once

#include "core/quality/curve.hpp"
#include "core/quality/horizon.hpp"
#include "core/quality/window.hpp"

namespace mlq {

/// In the units of the costs; every number finite.
struct Prediction {
  double now = 0;    ///< smoothed present
  double level = 0;  ///< where the chosen trend stands at the newest point; reductions are counted from here
  HorizonTable change;  ///< expected cost at a horizon (in points) minus `level`
  HorizonTable below;   ///< distance from the expected cost down to the 80 % interval's lower end, >= 0
  HorizonTable above;   ///< likewise up
  const char* model = "none";
  Verdict verdict = Verdict::no_data;
};

/// Bounded time; whatever the window holds, nothing that is not finite comes out.
Prediction predict(const Window& window);

}  // namespace mlq
