// SPDX-License-Identifier: GPL-2.0-or-later
// Whole nodes of running jobs for ML jobs that wait: the agent leaves them, then Slurm takes them out of the
// allocation.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/allocation/policy.hpp"
#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/engine/job.hpp"

namespace mlq::engine {

class NodeShrinks {
 public:
  static constexpr double leave_s = 60;  ///< beyond mlq_lead, for an agent to have left
  static constexpr double pause_s =
      15;  ///< from one shrink to the next decision: Slurm starts the waiting job
  static constexpr double refused_s = 3600;
  static constexpr std::size_t most_waiting = 64;  ///< that are looked at

  using SwitchedOff = std::function<std::string(const Job&)>;

  void configure(const mlq_config_t& config);

  static bool concerns(const Job& job);

  /// Sets Job::shrink. `jobs` are the ML jobs of the snapshot, by rising id. Needs mlq_resize=all to begin
  /// anything.
  void update(double now, const mlq_cluster_snapshot_t* cluster, std::span<Job* const> jobs,
              const SwitchedOff& switched_off);

  std::span<const mlq_node_shrink_t> actions() const { return actions_; }
  void done(Job& job, const char* error, double now);

 private:
  struct Member {
    Job* job = nullptr;
    std::uint32_t nodes = 1, least = 1, cores = 1;  ///< held; that it needs; of a node
  };
  void follow(Job& job, double now);
  void choose(double now, const mlq_cluster_snapshot_t& cluster, std::span<Job* const> jobs,
              const SwitchedOff& switched_off);
  bool may_shrink(const Job& job, double now, const SwitchedOff& switched_off) const;
  void decide(double now, std::vector<Member>& members, std::vector<Job*>& waiting, std::uint64_t idle);

  mlq_config_t config_{};
  std::unique_ptr<Policy> policy_;
  bool under_way_ = false;
  double not_before_ = 0;
  std::vector<mlq_node_shrink_t> actions_;
  std::deque<std::vector<const char*>> names_;
  std::deque<std::string> reasons_;
};

}  // namespace mlq::engine
