// SPDX-License-Identifier: GPL-2.0-or-later
// Learns t(x) = max(saturation, fixed + per_sample * x) of one rank from what was measured (LB-BSP,
// section 3.3).
#pragma once

#include <cstdint>

#include "core/balance/history.hpp"
#include "core/balance/sizing.hpp"

namespace mlq::balance {

/// Robust to spikes: a batch size's time is the mean of its newest measurements around their median. What the
/// data cannot identify stays simple: with one batch size only, time is proportional to it.
class RankTimeFit {
 public:
  static constexpr std::size_t kPoints = 16;  ///< batch sizes remembered, the oldest go first

  /// seconds > 0 of the rank's own work; anything else is ignored.
  void observe(std::uint64_t size, double seconds);
  /// The rank ran out of memory at `size`: it is never given as much again.
  void out_of_memory(std::uint64_t size);
  /// From a measured headroom; keeps the smaller of both.
  void set_max_size(std::uint64_t size);

  bool known() const { return points_ > 0; }
  /// Only when known().
  RankTime fit() const;
  /// Measurements so far.
  std::uint64_t count() const { return clock_; }
  /// Relative deviation of single measurements from the fit; 0 when fewer than 4 were made.
  double noise() const;

 private:
  static constexpr std::size_t kRepeats = 15;
  struct Point {
    std::uint64_t size = 0;
    std::uint64_t age = 0;
    Recent<double, kRepeats> seconds;
    double typical() const;
  };
  Point& point_for(std::uint64_t size);

  std::array<Point, kPoints> point_{};
  std::size_t points_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t max_size_ = UINT64_MAX;
};

}  // namespace mlq::balance
