// SPDX-License-Identifier: GPL-2.0-or-later
// Seconds an iteration takes, by the size of the allocation, learnt from what was observed.
#pragma once

namespace mlq {

/// t(c) = alpha + W/c + gamma*c; what the data cannot identify stays frozen at the linear model t = W/c.
class IterationTime {
 public:
  /// `iterations` > 0 done in `seconds` > 0 on `cores` > 0; anything else is ignored.
  void observe(double cores, double iterations, double seconds);
  /// Iterations per second on `cores`; 0 while nothing was observed or for cores <= 0. Finite.
  double rate(double cores) const;
  bool known() const;

 private:
  double alpha_ = 0, work_ = 0, gamma_ = 0;
  double weight_ = 0;
};

}  // namespace mlq
