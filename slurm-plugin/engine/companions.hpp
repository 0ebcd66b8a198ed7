// SPDX-License-Identifier: GPL-2.0-or-later
// The companions of all jobs: who belongs to whom, what they cost, which have to go.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "slurm-plugin/engine/job.hpp"
#include "slurm-plugin/engine/resizing.hpp"

namespace mlq::engine {

class Companions {
 public:
  static constexpr double backstop_s = 3;    ///< beyond the lead time
  static constexpr double kill_after_s = 8;  ///< from SIGTERM to SIGKILL

  void start_snapshot();
  void see(const mlq_job_snapshot_t& snapshot, std::uint32_t parent_id, double now);

  /// After all were seen: links them to `parent_of(id)` (null: no ML job), adds up their core-seconds there.
  template <typename ParentOf>
  void link(double now, const ParentOf& parent_of) {
    forget_gone(now);
    by_parent_.clear();
    for (auto& [id, companion] : companions_) link_one(now, companion, parent_of(companion.parent_id));
  }

  /// Those of that parent that are believed and have not ended.
  std::span<Companion* const> of(std::uint32_t parent_id) const;
  /// Of them those that started, the newest first.
  std::vector<Companion*> pieces_of(std::uint32_t parent_id) const;

  /// Must go from now on, if not since longer; `reason` is for the log.
  void must_leave(Companion& companion, double now, const std::string& reason);
  void may_stay(Companion& companion);

  /// Those without a parent at once; with `enforce` also those that stayed `lead_s` + backstop_s too long.
  std::span<const mlq_ending_t> endings(double now, double lead_s, bool enforce);

  bool any() const { return !companions_.empty(); }

 private:
  void link_one(double now, Companion& companion, Job* parent);
  void count(double now, Companion& companion, Job& parent);
  void forget_gone(double now);
  void end(Companion& companion, mlq_ending_kind_t kind, double now, std::string reason);

  std::map<std::uint32_t, Companion> companions_;
  std::unordered_map<std::uint32_t, std::vector<Companion*>> by_parent_;
  std::vector<mlq_ending_t> endings_;
  std::deque<std::string> reasons_;
};

}  // namespace mlq::engine
