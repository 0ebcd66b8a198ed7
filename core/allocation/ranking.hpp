// SPDX-License-Identifier: GPL-2.0-or-later
// Ranks jobs by predicted quality gain per core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mlq {

struct RankInput {
  std::uint64_t key = 0;  ///< identifies the job; breaks ties (lower first)
  double gain = 0;        ///< normalised gain over the horizon at `cores`, in [0, 1]
  double cores = 1;       ///< >= 1
};

struct RankResult {
  std::uint64_t key = 0;
  double gain_per_core = 0;
  double score = 0;      ///< in [0, 1], proportional to gain per core, 1 for the best
  std::size_t rank = 0;  ///< from 1, ties in the order of keys
};

/// Results in the order of the inputs. Inputs that are not finite count as 0 gain. O(n log n).
std::vector<RankResult> rank_by_gain(std::span<const RankInput> jobs);

}  // namespace mlq
