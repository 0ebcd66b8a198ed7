// SPDX-License-Identifier: GPL-2.0-or-later
// Local trends of many memory lengths at once: exponentially forgetting regressions on the number of the
// point and on its logarithm, kept up from point to point, so that the trends at every earlier origin come
// for free.
#pragma once

#include <Eigen/Core>
#include <array>

namespace mlq {

class TrendBank {
 public:
  static constexpr int kMemories = 8;
  using Values = Eigen::Array<double, kMemories, 1>;

  /// Weight of a point against the next one: a memory of 2 to about 65 points.
  static const Values& decays();

  /// Trends at the newest point: levels, and changes per unit of the basis.
  struct Trends {
    Values mean;  ///< no trend: the weighted mean
    Values line_level, line_slope;
    Values log_level, log_slope;
  };

  /// The next point: `k` > the last one's (k >= 1), `log_k` its logarithm but for a constant, `y` finite.
  void add(double k, double log_k, double y);
  Trends trends() const;

 private:
  double k_ = 0, log_k_ = 0;
  Values w_ = Values::Zero(), y_ = Values::Zero();
  Values x_ = Values::Zero(), xx_ = Values::Zero(), xy_ = Values::Zero();  // x: k, relative to the newest
  Values l_ = Values::Zero(), ll_ = Values::Zero(), ly_ = Values::Zero();  // l: ln k, relative to the newest
};

}  // namespace mlq
