// SPDX-License-Identifier: GPL-2.0-or-later
// What earlier runs of the same family say about a job that has not reported yet.
#pragma once

#include <array>
#include <map>
#include <string>

namespace mlq {

/// One finished run, size-free: core-seconds of work until 25, 50, 75, 90 and 95 % of its reduction.
struct RunSummary {
  static constexpr std::array<double, 5> fractions{0.25, 0.50, 0.75, 0.90, 0.95};
  std::array<double, 5> core_seconds{};  ///< > 0, non-decreasing
};

/// Geometric mean of the summaries of a family, newer runs weighing more.
class FamilyPrior {
 public:
  void add(const RunSummary& run);
  unsigned runs() const { return runs_; }
  const RunSummary& summary() const { return mean_; }
  void restore(const RunSummary& mean, unsigned runs);

  /// Normalised gain of a fresh job after `core_seconds` of work, in [0, 1]; concave, 0 at 0.
  double gain(double core_seconds) const;

 private:
  RunSummary mean_{};
  unsigned runs_ = 0;
};

/// Gain of a fresh job of an unknown family: the optimistic start SLAQ gives to new jobs (papers: SLAQ, section 5.2).
double optimistic_gain(double horizon_seconds);

}  // namespace mlq
