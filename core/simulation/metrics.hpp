// SPDX-License-Identifier: GPL-2.0-or-later
// What a run, or several of the same policy, come to.
#pragma once

#include <array>
#include <span>

#include "core/simulation/simulator.hpp"

namespace mlq::simulation {

struct Summary {
  std::array<double, milestones.size()> time_to{};  ///< mean seconds from arrival
  double mean_norm_loss =
      0;  ///< mean over time, until the last arrival, of the mean over jobs in the cluster
  double mean_norm_loss_all = 0;           ///< the same over all that have arrived, ended ones counting 0
  double mean_finish = 0, p99_finish = 0;  ///< seconds from arrival
  std::array<double, 3> share{};  ///< of held cores: highest quarter by loss, next quarter, lower half
  double moves = 0;               ///< changes of a running job's size, all jobs
  double utilisation = 0;         ///< held over available core-seconds, whole run
  double jain = 0;                ///< of (time alone / time taken) over jobs
  double decision_median_ms = 0, decision_max_ms = 0;
};

Summary summarise(const RunResult& run);
/// Means over runs; the longest decision of all.
Summary mean_of(std::span<const Summary> runs);

}  // namespace mlq::simulation
