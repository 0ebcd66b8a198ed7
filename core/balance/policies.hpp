// SPDX-License-Identifier: GPL-2.0-or-later
// Ways to re-size batches between iterations: ours and the ones it is compared with.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/balance/sizing.hpp"
#include "core/balance/speed.hpp"

namespace mlq::balance {

/// What every rank knows after the exchange at the end of an iteration; ranks in order, shapes (n).
struct Exchanged {
  std::span<const double> seconds;           ///< own work of an iteration, waiting excluded, > 0
  std::span<const std::uint64_t> sizes;      ///< samples that took these seconds; empty = the present sizes
  std::span<const NodeState> states;         ///< as the next iteration starts
  std::span<const std::uint64_t> max_sizes;  ///< memory caps, empty = none
  /// Speeds of the next iteration as each rank foresees its own, samples/s; empty = the policy predicts them
  /// itself from the states. An entry that is not > 0 leaves all sizes as they are.
  std::span<const double> predicted = {};
};

struct PolicyOptions {
  std::uint64_t global_batch = 0;  ///< X, samples
  std::size_t ranks = 0;
  std::uint64_t grain = 1;
  std::uint64_t epoch_iterations = 100;  ///< for dbs
  std::string_view predictor = "best";   ///< for lb, see make_speed_predictor()
};

/// Sizes for the next iteration. The sum is the global batch at all times; the first sizes are the equal
/// split.
class SizingPolicy {
 public:
  virtual ~SizingPolicy() = default;
  virtual const Sizes& sizes() const = 0;
  virtual void next(const Exchanged& exchanged) = 0;
  virtual std::string_view name() const = 0;
};

std::span<const std::string_view> sizing_policy_names();

/// lb (predicted CPU speed, equal-finish), gpu (fitted time curve, equal-finish), pair (LB-BSP's
/// leader/straggler moves), dbs (per-epoch proportional), static (proportional to the first ten iterations)
/// or equal; null for another name.
std::unique_ptr<SizingPolicy> make_sizing_policy(std::string_view name, const PolicyOptions& options);

}  // namespace mlq::balance
