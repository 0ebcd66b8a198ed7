// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mlq {

struct HullPoint {
  double x = 0;
  double y = 0;
};

/// Upper concave hull of points with ascending x: writes the kept points to the front and returns their
/// number. The first and the last always stay; points on a straight line stay as well.
std::size_t concave_hull(std::span<HullPoint> points);

}  // namespace mlq
