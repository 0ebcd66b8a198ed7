// SPDX-License-Identifier: GPL-2.0-or-later
// What earlier runs of the same family say about a job that has not reported yet.
#pragma once

#include <array>
#include <optional>
#include <span>

namespace mlq {

/// One finished run, size-free: core-seconds of work until 25, 50, 75, 90 and 95 % of its reduction.
struct RunSummary {
  static constexpr std::array<double, 5> fractions{0.25, 0.50, 0.75, 0.90, 0.95};
  std::array<double, 5> core_seconds{};  ///< > 0, non-decreasing
};

/// How far a run had come when it had used so much.
struct ProgressSample {
  double core_seconds = 0;  ///< used since the start of the run, >= 0
  double fraction = 0;      ///< of the reachable reduction, in [0, 1]
};

/// Summary of a finished run from samples in the order of time; samples that are not finite are left out.
/// Fractions count against the largest one the run reached. Empty when the samples say too little: fewer than
/// two, or a run that ended before half of the reachable reduction.
std::optional<RunSummary> summarise_run(std::span<const ProgressSample> samples);

/// Geometric mean of the summaries of a family, newer runs weighing more.
class FamilyPrior {
 public:
  /// A summary that is not finite, not positive or decreasing is ignored.
  void add(const RunSummary& run);
  unsigned runs() const { return runs_; }
  const RunSummary& summary() const { return mean_; }
  /// Takes back what summary() and runs() said; an invalid mean leaves the prior empty.
  void restore(const RunSummary& mean, unsigned runs);

  /// Normalised gain of a fresh job after `core_seconds` of work, in [0, 1]; concave, 0 at 0.
  double gain(double core_seconds) const;

 private:
  RunSummary mean_{};
  unsigned runs_ = 0;
};

/// Gain of a fresh job of an unknown family: the optimistic start SLAQ gives to new jobs (papers: SLAQ,
/// section 5.2). Half of the reduction within 30 s; in [0, 1], concave, 0 for a horizon that is not positive.
double optimistic_gain(double horizon_seconds);

}  // namespace mlq
