// SPDX-License-Identifier: GPL-2.0-or-later
// The sizes that running jobs are to have: what core/allocation's policy says of the CPUs and GPUs that can
// be lent, brought onto nodes. Jobs whose unit is a GPU are dealt GPUs apart from the others; CPUs beside
// idle GPUs that they could use are kept for them.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/allocation/policy.hpp"
#include "slurm-plugin/engine/capacity.hpp"
#include "slurm-plugin/engine/companions.hpp"
#include "slurm-plugin/engine/job.hpp"

namespace mlq::engine {

/// Parts of a decision, in milliseconds.
struct DecisionTime {
  double fit = 0, allocate = 0, pack = 0;
};

class Targets {
 public:
  static constexpr double heartbeat_s = 30;      ///< a job whose agent was silent for longer does not grow
  static constexpr double taken_up_s = 60;       ///< what was offered for longer and not had was refused
  static constexpr double first_refusal_s = 60;  ///< no growth for so long, doubling with each
  static constexpr double last_refusal_s = 3600;
  static constexpr double move_prior_s = 10;  ///< cost of a move of a job that has not moved yet
  static constexpr double show_itself_s =
      120;  ///< from its start a job whose speed is not known yet may grow
  static constexpr std::size_t max_grants = 256;

  explicit Targets(const mlq_config_t& config) { configure(config); }
  void configure(const mlq_config_t& config);

  /// Sets the plan of each job (Job::plan). `jobs` are the ML jobs of the snapshot, by rising id; without
  /// `cluster` the plans stay as they are, without grants. Companions that must go are told so.
  void update(double now, const mlq_cluster_snapshot_t* cluster, std::span<Job* const> jobs,
              Companions& companions, DecisionTime& spent);

  /// Whether the job could be given a size at all.
  bool concerns(const Job& job) const;

  /// The switch of the site that keeps the job's size as it is; "": none does.
  std::string switched_off(const Job& job) const;

 private:
  struct Member {
    Job* job = nullptr;
    Kind kind = Kind::cpus;
    std::uint32_t unit = 1;                  ///< CPUs of a unit
    std::uint32_t base = 0;                  ///< units
    std::vector<std::size_t> pieces;         ///< of lent_, the newest first
    std::vector<char> nodes;                 ///< allowed
    std::uint32_t kept = 0;                  ///< units of the pieces that stay
    std::uint32_t claim = 0;                 ///< units beyond: wanted and not there yet
    std::uint32_t want = 0;                  ///< what the policy says, base included
    bool can_start = false;                  ///< some of the claim is idle now
    std::uint32_t needed_by = 0;             ///< job that waits for some of its CPUs
    std::uint64_t pools = 0;                 ///< allowed, bits
    std::uint32_t gpu_types = any_gpu_type;  ///< bits: that it asks for
    std::string brake;                       ///< what holds growth back; "": nothing
    std::vector<std::uint32_t> row;          ///< held by pool
  };

  std::string why_not(const Job& job) const;
  std::string why_no_growth(Job& job, double now) const;
  void gather(double now, std::span<Job* const> jobs, Companions& companions);
  void adopt(Member& member, double now);
  void send_home(Job& job, Companions& companions, double now, const std::string& why) const;
  void choose_leaving(Member& member, std::uint32_t units);
  void read(const mlq_cluster_snapshot_t& cluster, double now);
  std::vector<NodeRoom> room_with_leaving() const;
  void claim_again();
  double work_until_seen(Kind kind) const;
  RateModel rate_of(const Member& member, double work_until_seen, double now) const;
  JobView view_of(const Member& member, double work, double now) const;
  void allocate(Kind kind, double now);
  void take_wishes();
  void offer(double now, Companions& companions);
  void finish(Member& member, std::uint32_t packed, double now, Companions& companions);
  std::string reason_for(const Member& member, std::uint32_t before, double now) const;
  std::uint32_t units_of(const Member& member, std::size_t piece) const;
  PieceSize size_of(const Member& member) const;
  std::uint32_t most_units(const Member& member) const;

  mlq_config_t config_{};
  std::set<std::string, std::less<>> partitions_, accounts_;
  std::unique_ptr<Policy> cpu_policy_, gpu_policy_;
  Patience patience_;
  Capacity capacity_;
  std::vector<LentCompanion> lent_;
  std::vector<char> leaving_;  ///< of lent_
  std::vector<Member> members_;
  std::vector<NodeRoom> room_;
};

}  // namespace mlq::engine
