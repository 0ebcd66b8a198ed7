// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/simulation/metrics.hpp"

#include <algorithm>
#include <cmath>

namespace mlq::simulation {

namespace {

void summarise_jobs(const RunResult& run, Summary& summary) {
  const auto count = static_cast<double>(run.jobs.size());
  std::vector<double> finish;
  double sum = 0, squares = 0;
  for (const JobResult& job : run.jobs) {
    for (std::size_t i = 0; i < milestones.size(); ++i) summary.time_to[i] += job.time_to[i] / count;
    finish.push_back(job.finish - job.arrival);
    summary.mean_finish += finish.back() / count;
    summary.moves += job.moves;
    const double progress = finish.back() > 0 ? job.alone / finish.back() : 1;
    sum += progress;
    squares += progress * progress;
  }
  std::sort(finish.begin(), finish.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.99 * count));
  summary.p99_finish = finish[std::clamp<std::size_t>(rank, 1, finish.size()) - 1];
  summary.jain = squares > 0 ? sum * sum / (count * squares) : 1;
}

void summarise_time(const RunResult& run, Summary& summary) {
  const double last_arrival = run.jobs.back().arrival;
  double seconds = 0, all_seconds = 0, held = 0;
  std::size_t arrived = 0;
  for (const Sample& sample : run.samples) {
    const double cores = sample.cores[0] + sample.cores[1] + sample.cores[2];
    for (std::size_t g = 0; g < sample.cores.size(); ++g)
      summary.share[g] += sample.cores[g] * sample.seconds;
    held += cores * sample.seconds;
    if (sample.time >= last_arrival && last_arrival > 0) continue;
    while (arrived < run.jobs.size() && run.jobs[arrived].arrival <= sample.time) ++arrived;
    seconds += sample.seconds;
    summary.mean_norm_loss += sample.norm_loss * sample.seconds;
    all_seconds += sample.seconds;
    summary.mean_norm_loss_all +=
        sample.norm_loss * sample.jobs / static_cast<double>(arrived) * sample.seconds;
  }
  if (seconds > 0) summary.mean_norm_loss /= seconds;
  if (all_seconds > 0) summary.mean_norm_loss_all /= all_seconds;
  if (held > 0)
    for (double& share : summary.share) share /= held;
}

}  // namespace

Summary summarise(const RunResult& run) {
  Summary summary;
  if (run.jobs.empty()) return summary;
  summarise_jobs(run, summary);
  summarise_time(run, summary);
  if (run.capacity_core_seconds > 0) summary.utilisation = run.held_core_seconds / run.capacity_core_seconds;
  if (!run.decision_seconds.empty()) {
    std::vector<double> times(run.decision_seconds);
    std::sort(times.begin(), times.end());
    summary.decision_median_ms = 1000 * times[times.size() / 2];
    summary.decision_max_ms = 1000 * times.back();
  }
  return summary;
}

Summary mean_of(std::span<const Summary> runs) {
  Summary mean;
  if (runs.empty()) return mean;
  const auto count = static_cast<double>(runs.size());
  for (const Summary& run : runs) {
    for (std::size_t i = 0; i < mean.time_to.size(); ++i) mean.time_to[i] += run.time_to[i] / count;
    for (std::size_t g = 0; g < mean.share.size(); ++g) mean.share[g] += run.share[g] / count;
    mean.mean_norm_loss += run.mean_norm_loss / count;
    mean.mean_norm_loss_all += run.mean_norm_loss_all / count;
    mean.mean_finish += run.mean_finish / count;
    mean.p99_finish += run.p99_finish / count;
    mean.moves += run.moves / count;
    mean.utilisation += run.utilisation / count;
    mean.jain += run.jain / count;
    mean.decision_median_ms += run.decision_median_ms / count;
    mean.decision_max_ms = std::max(mean.decision_max_ms, run.decision_max_ms);
  }
  return mean;
}

}  // namespace mlq::simulation
