// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/sizing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

namespace mlq::balance {
namespace {

/// Whole grains a rank may hold.
struct GrainBounds {
  std::uint64_t low = 0, high = 0;
};

bool valid(const RankTime& rank) {
  return std::isfinite(rank.saturation) && rank.saturation >= 0 && std::isfinite(rank.fixed) &&
         std::isfinite(rank.per_sample) && rank.per_sample > 0 && rank.min_size <= rank.max_size;
}

/// Most grains that finish within `seconds`.
std::uint64_t grains_within(const RankTime& rank, double inverse, const GrainBounds& bounds,
                            std::uint64_t grain, double seconds) {
  if (seconds < rank.saturation) return bounds.low;
  const double samples = (seconds - rank.fixed) * inverse;
  if (!(samples > 0)) return bounds.low;
  const double grains = samples / static_cast<double>(grain);
  if (grains >= static_cast<double>(bounds.high)) return bounds.high;
  return std::max(bounds.low, static_cast<std::uint64_t>(grains));
}

class Solver {
 public:
  Solver(std::uint64_t grains, std::span<const RankTime> ranks, std::uint64_t grain)
      : grains_(grains), ranks_(ranks), grain_(grain), inverse_(ranks.size()), bounds_(ranks.size()) {}

  bool feasible() {
    std::uint64_t low = 0, high = 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (!valid(ranks_[i])) return false;
      inverse_[i] = 1 / ranks_[i].per_sample;
      bounds_[i].low = ranks_[i].min_size / grain_ + (ranks_[i].min_size % grain_ != 0);
      bounds_[i].high = std::min(ranks_[i].max_size / grain_, grains_);
      if (bounds_[i].low > bounds_[i].high) return false;
      low += bounds_[i].low;
      if (low > grains_) return false;
      high = std::min(grains_, high + bounds_[i].high);
    }
    return high >= grains_;
  }

  /// The bracket ends where no whole grain lies between its ends, or after a fixed number of halvings.
  Sizes solve() {
    double below = 0, above = 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      above = std::max(above, ranks_[i].seconds(bounds_[i].high * grain_));
    for (int i = 0; i < 48; ++i) {
      const double middle = 0.5 * (below + above);
      const std::uint64_t total = total_within(middle);
      (total <= grains_ ? below : above) = middle;
      if (total <= grains_ && grains_ - total <= ranks_.size()) break;
    }
    Sizes sizes(ranks_.size());
    std::uint64_t left = grains_;
    for (std::size_t i = 0; i < sizes.size(); ++i) left -= sizes[i] = within(i, below);
    if (left > ranks_.size()) left = fill(sizes, left, above);
    give_singly(sizes, left);
    return sizes;
  }

 private:
  std::uint64_t within(std::size_t i, double seconds) const {
    return grains_within(ranks_[i], inverse_[i], bounds_[i], grain_, seconds);
  }

  std::uint64_t total_within(double seconds) const {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      total += within(i, seconds);
      if (total > grains_) break;
    }
    return total;
  }

  /// Where saturation makes the sum jump past the goal, every grain up to the jump costs the same.
  std::uint64_t fill(Sizes& sizes, std::uint64_t left, double seconds) const {
    for (std::size_t i = 0; i < sizes.size() && left > 0; ++i) {
      const std::uint64_t room = within(i, seconds) - sizes[i];
      const std::uint64_t given = std::min(room, left);
      sizes[i] += given;
      left -= given;
    }
    return left;
  }

  /// Gives the rest one grain at a time to whoever then finishes first, which is optimal for a non-decreasing
  /// t(x).
  void give_singly(Sizes& sizes, std::uint64_t left) const {
    using Entry = std::pair<double, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
    for (std::size_t i = 0; i < sizes.size() && left > 0; ++i)
      if (sizes[i] < bounds_[i].high) next.emplace(ranks_[i].seconds((sizes[i] + 1) * grain_), i);
    while (left > 0 && !next.empty()) {
      const std::size_t i = next.top().second;
      next.pop();
      ++sizes[i];
      --left;
      if (sizes[i] < bounds_[i].high) next.emplace(ranks_[i].seconds((sizes[i] + 1) * grain_), i);
    }
  }

  std::uint64_t grains_;
  std::span<const RankTime> ranks_;
  std::uint64_t grain_;
  std::vector<double> inverse_;
  std::vector<GrainBounds> bounds_;
};

/// The samples that do not fill a grain go to the rank that then finishes first.
bool give_remainder(Sizes& sizes, std::uint64_t remainder, std::span<const RankTime> ranks) {
  if (remainder == 0) return true;
  std::size_t best = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (ranks[i].max_size - sizes[i] < remainder) continue;
    if (best == sizes.size() ||
        ranks[i].seconds(sizes[i] + remainder) < ranks[best].seconds(sizes[best] + remainder))
      best = i;
  }
  if (best == sizes.size()) return false;
  sizes[best] += remainder;
  return true;
}

}  // namespace

double RankTime::seconds(std::uint64_t size) const {
  return std::max(saturation, fixed + per_sample * static_cast<double>(size));
}

std::optional<Sizes> solve_equal_finish(std::uint64_t global_batch, std::span<const RankTime> ranks,
                                        std::uint64_t grain) {
  if (ranks.empty() || grain == 0) return std::nullopt;
  Solver solver(global_batch / grain, ranks, grain);
  if (!solver.feasible()) return std::nullopt;
  Sizes sizes = solver.solve();
  for (auto& size : sizes) size *= grain;
  if (!give_remainder(sizes, global_batch % grain, ranks)) return std::nullopt;
  return sizes;
}

Sizes equal_split(std::uint64_t global_batch, std::size_t ranks) {
  Sizes sizes(ranks, ranks == 0 ? 0 : global_batch / ranks);
  for (std::size_t i = 0; ranks != 0 && i < global_batch % ranks; ++i) ++sizes[i];
  return sizes;
}

std::uint64_t usual_grain(std::uint64_t global_batch, std::size_t ranks) {
  std::uint64_t grain = 8;
  while (grain > 1 && global_batch / 32 / grain < ranks) grain /= 2;
  return grain;
}

std::optional<Sizes> proportional_split(std::uint64_t global_batch, std::span<const double> weights,
                                        std::uint64_t grain) {
  std::vector<RankTime> ranks(weights.size());
  const double largest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
  if (!(largest > 0) || !std::isfinite(largest)) return std::nullopt;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0)) return std::nullopt;
    if (weights[i] > 0 && std::isfinite(largest / weights[i]))
      ranks[i].per_sample = largest / weights[i];
    else
      ranks[i] = {.per_sample = 1, .max_size = 0};
  }
  return solve_equal_finish(global_batch, ranks, grain);
}

std::uint64_t size_after_out_of_memory(std::uint64_t size) {
  return size - size / 8 - (size > 0);
}

double makespan(std::span<const std::uint64_t> sizes, std::span<const RankTime> ranks) {
  double longest = 0;
  for (std::size_t i = 0; i < sizes.size() && i < ranks.size(); ++i)
    longest = std::max(longest, ranks[i].seconds(sizes[i]));
  return longest;
}

std::uint64_t decision_hash(std::span<const std::uint64_t> sizes) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::uint64_t size : sizes)
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ ((size >> (8 * byte)) & 0xff)) * 1099511628211u;
  return hash;
}

}  // namespace mlq::balance
