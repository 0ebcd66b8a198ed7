// SPDX-License-Identifier: GPL-2.0-or-later
// A cluster in discrete events: arrivals, decisions, moves, reports, failures, ends. The policy is the one
// the scheduler runs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/allocation/policy.hpp"
#include "core/simulation/workload.hpp"

namespace mlq::simulation {

constexpr std::array<double, 6> milestones{0.25, 0.50, 0.75, 0.90, 0.95, 0.99};

struct SimConfig {
  std::vector<Pool> pools;
  double interval = 3;      ///< seconds between decisions; one is also made at each arrival and end
  double move_cost = 0;     ///< seconds without progress when a running job's size changes
  double report_delay = 0;  ///< seconds until a loss is known to the scheduler
  double failures = 0;      ///< mean seconds between failures of a node; 0: none
  std::uint32_t node_cores = 32;
  double repair = 600;          ///< seconds a failed node stays away
  bool learn_families = false;  ///< expect of a job the iterations that ended runs of its family had
  double end_after = 1e9;       ///< seconds; what has not finished then counts as finishing then
  std::uint64_t seed = 1;       ///< of failures
};

struct JobResult {
  double arrival = 0, finish = 0;                   ///< seconds
  std::array<double, milestones.size()> time_to{};  ///< seconds from arrival
  double alone = 0;                                 ///< seconds it would take with all it can use, alone
  double core_seconds = 0;
  unsigned moves = 0;
};

/// State of the cluster over one stretch of time.
struct Sample {
  double time = 0, seconds = 0;
  double norm_loss = 0;  ///< mean over running and queued jobs: 1 at start, 0 at the job's best
  double jobs = 0;
  std::array<double, 3> cores{};  ///< held by the quarter with the highest loss, the next, the lower half
};

struct RunResult {
  std::vector<JobResult> jobs;
  std::vector<Sample> samples;
  std::vector<double> decision_seconds;
  double held_core_seconds = 0;
  double capacity_core_seconds = 0;
};

struct Hooks {
  std::function<double()> clock;         ///< seconds, to time decisions with; may be empty
  std::function<void(double)> progress;  ///< share of jobs that ended; may be empty
};

/// The same jobs, traces and config give the same result, decision times aside.
RunResult simulate(const SimConfig& config, std::span<const SimJob> jobs, std::span<const Trace> traces,
                   Policy& policy, const Hooks& hooks = {});

}  // namespace mlq::simulation
