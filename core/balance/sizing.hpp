// SPDX-License-Identifier: GPL-2.0-or-later
// Sizes each rank's batch so that all ranks finish an iteration together, the sum being the global batch.
// Source: LB-BSP (SoCC '20), sections 3.2 and 3.3; solved at once instead of pair by pair.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mlq::balance {

/// Seconds of a rank's own work on x samples: max(saturation, fixed + per_sample * x), waiting excluded.
/// A CPU rank has saturation = fixed = 0 and per_sample = 1 / speed.
struct RankTime {
  double saturation = 0;  ///< s, >= 0; below it a GPU is not filled
  double fixed = 0;       ///< s, any sign as long as the time stays >= 0
  double per_sample = 0;  ///< s, > 0
  std::uint64_t min_size = 0;
  std::uint64_t max_size = UINT64_MAX;  ///< from memory

  double seconds(std::uint64_t size) const;
};

using Sizes = std::vector<std::uint64_t>;

/// Minimises the makespan max_i t_i(x_i) over integers with sum exactly `global_batch`, min <= x_i <= max and
/// x_i a multiple of `grain` (one rank takes the remainder of global_batch / grain). Deterministic: the same
/// input gives the same bits on every rank; ties go to the lower rank. nullopt when no sizes satisfy the
/// bounds or an input is not valid. O(n log n) after a bisection of fixed length.
std::optional<Sizes> solve_equal_finish(std::uint64_t global_batch, std::span<const RankTime> ranks,
                                        std::uint64_t grain = 1);

/// Sizes that differ by at most one, larger ones first: what plain data parallelism does.
Sizes equal_split(std::uint64_t global_batch, std::size_t ranks);

/// 8, 4, 2 or 1: the largest that leaves a rank 32 grains in the mean. Matrix products may lose a quarter of
/// their speed at sizes that leave their kernels a rest, and rounding to a 32nd costs half of one at most.
std::uint64_t usual_grain(std::uint64_t global_batch, std::size_t ranks);

/// Sizes in proportion to weights (>= 0, not all 0), largest makespan minimised: x_i = X w_i / sum w.
std::optional<Sizes> proportional_split(std::uint64_t global_batch, std::span<const double> weights,
                                        std::uint64_t grain = 1);

/// Most samples to try again after memory ran out at `size`: an eighth less, for allocators fragment. 0 for
/// 0.
std::uint64_t size_after_out_of_memory(std::uint64_t size);

double makespan(std::span<const std::uint64_t> sizes, std::span<const RankTime> ranks);

/// FNV-1a over the sizes, for ranks to check that they decided alike.
std::uint64_t decision_hash(std::span<const std::uint64_t> sizes);

}  // namespace mlq::balance
