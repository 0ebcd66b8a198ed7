// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/concave_hull.hpp"

namespace mlq {

std::size_t concave_hull(std::span<HullPoint> points) {
  std::size_t kept = 0;
  for (const HullPoint point : points) {
    while (kept >= 2) {
      const HullPoint &a = points[kept - 2], &b = points[kept - 1];
      const bool below = (b.y - a.y) * (point.x - a.x) < (point.y - a.y) * (b.x - a.x);
      if (!below) break;
      --kept;
    }
    points[kept++] = point;
  }
  return kept;
}

}  // namespace mlq
