// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mlq {

std::vector<RankResult> rank_by_gain(std::span<const RankInput> jobs) {
  std::vector<RankResult> results(jobs.size());
  double best = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const RankInput& job = jobs[i];
    RankResult& result = results[i];
    result.key = job.key;
    if (std::isfinite(job.gain) && std::isfinite(job.cores))
      result.gain_per_core = std::clamp(job.gain, 0.0, 1.0) / std::max(job.cores, 1.0);
    best = std::max(best, result.gain_per_core);
  }
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (results[a].gain_per_core != results[b].gain_per_core)
      return results[a].gain_per_core > results[b].gain_per_core;
    return results[a].key < results[b].key;
  });
  for (std::size_t place = 0; place < order.size(); ++place) {
    RankResult& result = results[order[place]];
    result.rank = place + 1;
    result.score = best > 0 ? result.gain_per_core / best : 0;
  }
  return results;
}

}  // namespace mlq
