// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/family_prior.hpp"

#include <algorithm>
#include <cmath>

namespace mlq {

namespace {

constexpr double newest_share = 0.2;         // the newest run never weighs less: families drift
constexpr double optimistic_half_life = 30;  // seconds
constexpr double smallest_work = 1e-9;       // core-seconds; keeps logarithms finite

bool valid(const RunSummary& run) {
  double last = 0;
  for (double work : run.core_seconds) {
    if (!std::isfinite(work) || !(work > 0) || work < last) return false;
    last = work;
  }
  return true;
}

}  // namespace

std::optional<RunSummary> summarise_run(std::span<const ProgressSample> samples) {
  const auto usable = [](const ProgressSample& s) {
    return std::isfinite(s.core_seconds) && std::isfinite(s.fraction) && s.core_seconds >= 0;
  };
  double reached = 0;
  std::size_t count = 0;
  for (const ProgressSample& s : samples)
    if (usable(s)) reached = std::max(reached, s.fraction), ++count;
  if (count < 2 || reached < 0.5) return std::nullopt;

  RunSummary run;
  std::size_t next = 0;
  ProgressSample before{};
  for (const ProgressSample& s : samples) {
    // Progress is the best so far: a loss that rises again does not undo it.
    if (!usable(s) || s.core_seconds < before.core_seconds || s.fraction <= before.fraction) continue;
    for (; next < run.core_seconds.size() && s.fraction >= RunSummary::fractions[next] * reached; ++next) {
      const double part =
          (RunSummary::fractions[next] * reached - before.fraction) / (s.fraction - before.fraction);
      const double work = before.core_seconds + std::max(part, 0.0) * (s.core_seconds - before.core_seconds);
      run.core_seconds[next] = std::max(work, smallest_work);
    }
    before = s;
  }
  if (next < run.core_seconds.size()) return std::nullopt;
  return run;
}

void FamilyPrior::add(const RunSummary& run) {
  if (!valid(run)) return;
  ++runs_;
  if (runs_ == 1) {
    mean_ = run;
    return;
  }
  const double share = std::max(newest_share, 1.0 / runs_);
  for (std::size_t i = 0; i < mean_.core_seconds.size(); ++i)
    mean_.core_seconds[i] =
        std::exp((1 - share) * std::log(mean_.core_seconds[i]) + share * std::log(run.core_seconds[i]));
}

void FamilyPrior::restore(const RunSummary& mean, unsigned runs) {
  const bool usable = runs > 0 && valid(mean);
  mean_ = usable ? mean : RunSummary{};
  runs_ = usable ? runs : 0;
}

double FamilyPrior::gain(double core_seconds) const {
  if (runs_ == 0 || !(core_seconds > 0)) return 0;
  constexpr std::size_t points = RunSummary::fractions.size();
  // Walks the concave hull of (0, 0) and the summary: from each corner, the steepest way to a later point.
  double x = 0, y = 0, slope = 0;
  for (std::size_t from = 0; from < points;) {
    std::size_t corner = from;
    double steepest = -1;
    for (std::size_t i = from; i < points; ++i) {
      const double run = std::max(mean_.core_seconds[i] - x, smallest_work);
      const double rise = (RunSummary::fractions[i] - y) / run;
      if (rise >= steepest) steepest = rise, corner = i;
    }
    const double end = std::max(mean_.core_seconds[corner], x);
    slope = steepest;
    if (core_seconds < end) return y + slope * (core_seconds - x);
    x = end, y = RunSummary::fractions[corner];
    from = corner + 1;
  }
  // Beyond the last point: towards 1, leaving with the last slope.
  return y + (1 - y) * -std::expm1(-slope * (core_seconds - x) / (1 - y));
}

double optimistic_gain(double horizon_seconds) {
  if (!(horizon_seconds > 0)) return 0;
  return 1 - std::exp2(-horizon_seconds / optimistic_half_life);
}

}  // namespace mlq
