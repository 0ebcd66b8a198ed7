// SPDX-License-Identifier: GPL-2.0-or-later
// Seconds an iteration takes, by the size of the allocation, learnt from what was observed.
#pragma once

#include <array>
#include <cstddef>

#include "core/throughput/rate_model.hpp"

namespace mlq {

/// t(c) = alpha + W/c + gamma*c; what the data cannot identify stays frozen at the linear model t = W/c
/// (SLAQ, section 4 assumes the linear model alone). Observations are pooled by size, newer ones weighing
/// more, so a job whose speed drifts is followed. 256 bytes, no heap.
class IterationTime {
 public:
  /// `iterations` > 0 done in `seconds` > 0 on `cores` > 0; anything else is ignored.
  void observe(double cores, double iterations, double seconds);
  /// Iterations per second on `cores`; 0 while nothing was observed or for cores <= 0. Finite.
  double rate(double cores) const { return model_.rate(cores); }
  bool known() const { return used_ > 0; }

  /// What was learnt, size-free.
  const RateModel& model() const { return model_; }

 private:
  /// What was seen on one size.
  struct Sample {
    double cores = 0;
    double seconds = 0;  ///< per iteration, exponentially weighted
    float weight = 0;    ///< iterations seen, saturating
    unsigned age = 0;    ///< number of the last observation, for eviction
  };
  Sample& sample_for(double cores);
  void fit();

  std::array<Sample, 8> samples_{};
  std::size_t used_ = 0;
  unsigned clock_ = 0;
  RateModel model_;
};

}  // namespace mlq
