// SPDX-License-Identifier: GPL-2.0-or-later
// Predicted against realised gain of one job, horizon after horizon.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "core/quality/curve.hpp"

namespace mlq::engine {

/// At the start of each horizon the predicted gain is written down; at its end the realised one is measured
/// on the same scale (the reachable reduction as it was estimated at the start).
class GainMeter {
 public:
  /// `ahead`: iterations predicted to happen within `horizon_s`. Call after each fit of a running job.
  void follow(const LossCurve& curve, double ahead, double horizon_s, double now);
  /// Ends the horizon that is under way; what it predicted is cut to the time that passed.
  void close(const LossCurve& curve, double now);
  /// Forgets the horizon that is under way: the job was interrupted.
  void drop() { open_ = false; }
  void restore(double predicted, double realised);

  std::optional<double> predicted() const { return horizons_ ? std::optional(predicted_) : std::nullopt; }
  /// At most 1, the whole of the reachable reduction: horizons that each took the rest for smaller than it
  /// was add up to more.
  std::optional<double> realised() const {
    return horizons_ ? std::optional(std::min(realised_, 1.0)) : std::nullopt;
  }

 private:
  static constexpr std::size_t parts = 8;
  void open(const LossCurve& curve, double ahead, double horizon_s, double now);
  double predicted_after(double seconds) const;

  bool open_ = false;
  double start_ = 0;    ///< seconds since the epoch
  double horizon_ = 0;  ///< seconds
  double loss_ = 0;     ///< smoothed, at the start
  double reach_ = 0;    ///< reachable reduction in the trainer's units, signed as the reduction is; 0 unknown
  double fraction_ = 0;
  std::array<double, parts> gain_{};  ///< predicted gain after each eighth of the horizon
  double predicted_ = 0, realised_ = 0;
  unsigned horizons_ = 0;
};

}  // namespace mlq::engine
