// SPDX-License-Identifier: GPL-2.0-or-later
// The sizes that pending jobs with a range are to ask for: what core/allocation says of what is idle.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/allocation/packing.hpp"
#include "core/allocation/pending_size.hpp"
#include "core/quality/family_prior.hpp"
#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/engine/job.hpp"
#include "slurm-plugin/engine/size_limit.hpp"
#include "slurm-plugin/engine/size_range.hpp"

namespace mlq::engine {

class Sizer {
 public:
  static constexpr std::size_t most_per_cycle = 16;  ///< sizes that are changed; the others wait
  static constexpr double dwell_s = 15;              ///< from one change of a job's size to the next
  static constexpr double put_back_s = 600;  ///< a component that did not start by then gets its size back
  static constexpr double refused_s = 600;   ///< what Slurm refused is not tried again for so long
  static constexpr double lasting_horizons = 10;  ///< over so many a job is judged that cannot grow later

  struct Pending {
    Job* job = nullptr;
    const mlq_job_snapshot_t* seen = nullptr;
    std::string off;           ///< why a switch keeps its size from being chosen; "": none does
    std::uint32_t wanted = 0;  ///< units that it was requeued for; 0: it was not
  };
  using FamilyOf = std::function<const FamilyPrior*(const Job&)>;

  /// Whether the job names a range of sizes.
  bool concerns(const Pending& pending) const;

  /// Sets Job::size_reason of those that name a range. `cluster` may be null: then no size is chosen.
  std::span<const mlq_sizing_t> decide(double now, const mlq_config_t& config, std::span<const Pending> jobs,
                                       const mlq_cluster_snapshot_t* cluster, const FamilyOf& family_of);

  /// What became of a sizing: `error` is Slurm's, null when it was done.
  void done(std::uint32_t job_id, std::int64_t submit, const char* error, double now);

 private:
  struct Memory {
    std::int64_t submit = 0;
    NodeRange nodes;
    double changed_at = -1;
    double refused_until = 0;
    std::string refusal;
    std::uint32_t dry_run = 0;  ///< size that was said
    bool known = false;         ///< it was looked at before
    bool asked = false;
    bool given = false;        ///< what it was requeued for
    std::uint32_t before = 0;  ///< units that a component asked for before; 0: it was not sized
    std::uint32_t back = 0;    ///< units that it is to ask for again
    SizeLimit limit;
  };
  struct Member {
    Pending pending;
    SizeRange range;
    const mlq_waiting_snapshot_t* waiting = nullptr;
    Memory* memory = nullptr;
    std::vector<char> allowed;  ///< one byte a node
    /// GPUs that it could have, as bits; 0: it asks for none. Those with the same share what is idle.
    std::uint32_t gpu_types() const { return range.gpus > 0 ? waiting->gpu_types : 0; }
  };
  class Value;

  static bool waited_enough(Memory& memory, double now);
  Memory& remember(const mlq_job_snapshot_t& seen);
  void gather(std::span<const Pending> jobs, const mlq_cluster_snapshot_t* cluster, double now);
  void place_waiting(const mlq_cluster_snapshot_t& cluster, std::span<Member> members);
  void choose(double now, const mlq_config_t& config, const mlq_cluster_snapshot_t& cluster,
              std::span<Member> members, const FamilyOf& family_of);
  std::uint32_t usable(const Member& member, std::size_t node) const;
  std::uint32_t room_for(const Member& member) const;
  void give(double now, const Member& member);
  void obey_limit(double now, const mlq_config_t& config, const Member& member);
  void emit(const Member& member, std::uint32_t units);
  void take(double now, const mlq_config_t& config, Member& member, const PendingJob& job,
            const SizeChoice& choice);

  std::map<std::uint32_t, Memory> memories_;
  std::vector<Member> members_;
  std::vector<Member> wanted_;   ///< those that were requeued for a size
  std::vector<Member> limited_;  ///< those that wait for a limit on sizes
  std::vector<NodeRoom> room_;
  std::vector<mlq_sizing_t> sizings_;
  std::deque<std::string> reasons_;
};

}  // namespace mlq::engine
