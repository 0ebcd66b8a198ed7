// SPDX-License-Identifier: GPL-2.0-or-later
// Replays recorded worker speeds: how well predictors foresee them, and what each sizing policy would have
// taken.
#pragma once

#include <string>
#include <vector>

#include "core/balance/policies.hpp"

namespace mlq::balance {

/// Shapes (iterations)(workers); speeds in samples/s or any unit, > 0.
struct SpeedTrace {
  std::vector<std::string> workers;
  std::vector<std::vector<double>> speeds;
  std::vector<std::vector<NodeState>> states;  ///< empty when the trace has none
};

/// Root mean squared error over all workers, relative to the worker's mean speed, from iteration `skip` on.
double prediction_rmse(const SpeedTrace& trace, std::string_view predictor, std::size_t skip);

struct PolicyReplay {
  double mean_iteration = 0;       ///< s with the trace's speeds
  double time_vs_equal = 0;        ///< mean iteration time over that of the equal split
  double fraction_of_ceiling = 0;  ///< ideal mean iteration time (X / sum of speeds) over this one's, <= 1
  std::uint64_t changes = 0;       ///< iterations after which sizes changed
};

PolicyReplay replay_policy(const SpeedTrace& trace, std::string_view policy, const PolicyOptions& options);

}  // namespace mlq::balance
