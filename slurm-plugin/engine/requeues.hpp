// SPDX-License-Identifier: GPL-2.0-or-later
// Running jobs with resize=requeue: whether another size is worth a restart, and the way there, step by step.
//
// Announced (AdminComment says so) - told to save - requeued - sized while it is not eligible yet - seen to
// go on from where it was. Nothing is ever held: whatever dies between two steps, the job runs or waits as
// any other.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/allocation/policy.hpp"
#include "slurm-plugin/engine/capacity.hpp"
#include "slurm-plugin/engine/het_sizes.hpp"
#include "slurm-plugin/engine/job.hpp"
#include "slurm-plugin/engine/size_range.hpp"

namespace mlq::engine {

/// That a running job has.
std::uint32_t units_held(const Job& job, const SizeRange& range);

class Requeues {
 public:
  static constexpr std::uint32_t most = 5;        ///< requeues of ours of one job
  static constexpr std::size_t most_at_once = 4;  ///< under way
  static constexpr double horizons = 10;          ///< of mlq_horizon in which a restart must have paid
  static constexpr double dwells = 10;            ///< of mlq_dwell from the start of a run to its end by us
  static constexpr double cost_prior_s =
      180;                               ///< of a restart; Slurm keeps a requeued job back for two minutes
  static constexpr double settle_s = 8;  ///< after that slurmctld has saved what AdminComment says
  static constexpr double unwritten_s = 60;  ///< AdminComment that has not taken it by then will not
  static constexpr double heartbeat_s = 30;  ///< an agent that was silent for longer is not relied upon
  static constexpr double overtime_s = 10;   ///< beyond the grace, for an agent that ends its ranks itself
  static constexpr double refused_s = 600;
  static constexpr unsigned tries = 5;

  using SwitchedOff = std::function<std::string(const Job&)>;

  void configure(const mlq_config_t& config);

  /// Whether the job is one that could come to another size so.
  static bool concerns(const Job& job);

  /// Before the other calls of a cycle: which of the ML jobs are components of one heterogeneous job.
  void link(std::span<Job* const> jobs);
  /// Units that a pending job was requeued for; 0: it was not, or its request is to stay.
  std::uint32_t wanted(const Job& job) const;

  /// Sets Job::plan and Job::requeue of those. `jobs` are the ML jobs of the snapshot, by rising id. Without
  /// `cluster`, and in other modes than active, nothing new begins; what a job was told is brought to its
  /// end.
  void update(double now, const mlq_cluster_snapshot_t* cluster, std::span<Job* const> jobs,
              const SwitchedOff& switched_off);

  std::span<const mlq_requeue_t> actions() const { return actions_; }
  /// A job was told to save, and must not be left alone.
  bool any_told() const { return any_told_; }

  /// What became of an action; `error` is Slurm's, null when it was done.
  void done(Job& job, mlq_requeue_kind_t kind, const char* error, double now) const;

 private:
  /// Of a heterogeneous job the first component with resize=requeue: its reports are of all of them, and it
  /// is followed. Units are then CPUs of all components.
  struct Member {
    Job* job = nullptr;
    SizeRange range;
    std::optional<HetSizes> het;
    std::uint32_t base = 0, room = 0;  ///< units that it has; that it could start on if it gave them back
    std::uint32_t want = 0;
    Kind kind() const { return !het && range.counts_gpus() ? Kind::gpus : Kind::cpus; }
    std::uint32_t unit() const { return het ? 1 : std::max(1U, range.unit); }  ///< CPUs
    /// What a unit takes of what is dealt out.
    std::uint32_t dealt() const { return kind() == Kind::gpus ? range.gpus : unit(); }
    std::string brake;  ///< why it keeps its size
    std::size_t pool = 0;
  };

  // components
  const std::vector<Job*>* components_of(const Job& job) const;
  bool followed(const Job& job) const;
  void claim(const Job& job);
  void gather_components(const mlq_cluster_snapshot_t& cluster, Member& member) const;
  static void set_wanted(Member& member);
  static std::string wanted_text(const Job& job);
  static std::string units_now(const Member& member);
  static std::uint32_t units_kept(const Member& member);
  static void say_component(Job& job);

  // the way of one job
  void follow(Job& job, double now);
  void settle(Job& job, double now);
  void wait_saved(Job& job, double now);
  void check(Job& job, double now);
  void withdraw(Job& job, double now, const std::string& why, double pause) const;
  void act(const Job& job, mlq_requeue_kind_t kind, std::string reason);

  // who is worth it
  void gather(double now, const mlq_cluster_snapshot_t& cluster, std::span<Job* const> jobs,
              const SwitchedOff& switched_off);
  std::string why_not(const Job& job, const SizeRange& range, double now) const;
  std::uint32_t unclaimed(const Job& job, const SizeRange& range, std::uint32_t room) const;
  std::uint32_t room_for(const mlq_cluster_snapshot_t& cluster, const Job& job, const SizeRange& range) const;
  void allocate(Kind kind, const mlq_cluster_snapshot_t& cluster, double now);
  void announce(double now);
  void say(Member& member, double now) const;
  double cost_of(const Job& job) const { return job.requeue.cost_s >= 0 ? job.requeue.cost_s : cost_prior_s; }

  mlq_config_t config_{};
  std::unique_ptr<Policy> cpu_policy_, gpu_policy_;
  Patience patience_;
  Capacity capacity_;
  std::vector<Member> members_;
  std::map<std::uint32_t, std::vector<Job*>> components_;  ///< with resize=requeue, of each leader
  std::vector<NodeRoom> room_;
  std::uint64_t claimed_ = 0, claimed_gpus_ = 0;  ///< CPUs and GPUs that those under way are to have
  std::size_t under_way_ = 0;
  bool any_told_ = false;
  std::vector<mlq_requeue_t> actions_;
  std::deque<std::string> reasons_;
};

}  // namespace mlq::engine
