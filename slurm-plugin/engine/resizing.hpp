// SPDX-License-Identifier: GPL-2.0-or-later
// What the engine knows of a job that is resized while it runs: its agent, its companions, the size it is to
// have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/allocation/packing.hpp"
#include "slurm-plugin/engine/engine.h"

namespace mlq::engine {

/// How the agent of a job stood when it spoke last (doc/protocol.md, POST /v1/agent).
struct AgentReport {
  std::uint32_t job_id = 0;
  std::int64_t submit = 0;  ///< 0: mlqd does not know the job yet
  double time = 0;          ///< by the agent's clock
  double received = 0;      ///< by mlqd's
  std::string phase;
  std::uint32_t units = 0;
  double move_s = -1;  ///< of the last move; < 0: none yet
  double refused_at = 0;
  std::string refused;
  std::vector<std::string> left_nodes;  ///< of its base, that it runs nothing on any more
  bool saves = false;  ///< it ends its ranks when it is told to save, and says when they have
};

/// A job that says it is part of another one.
struct Companion {
  std::uint32_t job_id = 0, restarts = 0, user_id = 0, parent_id = 0;
  std::int64_t submit = 0;
  mlq_job_state_t state = MLQ_JOB_PENDING;
  double cpus = 0;
  std::uint32_t gpus = 0;
  double start = 0, end = 0, suspended = 0;  ///< seconds since the epoch, 0: not yet; seconds
  std::uint32_t node = MLQ_NO_NODE;
  bool believed = false;  ///< its parent is an ML job of the same user
  bool orphan = false;    ///< its parent was not seen to run
  bool counted = false;   ///< it ended, and its core-seconds were added to the parent's
  bool in_snapshot = true;
  double seen = 0;            ///< when it was in a snapshot last
  double leaving_since = -1;  ///< since when it must go; < 0: it may stay
  double terminated_at = -1;  ///< when SIGTERM was decided upon
  std::string leaving_reason;

  bool active() const { return state == MLQ_JOB_RUNNING || state == MLQ_JOB_SUSPENDED; }
  double core_seconds(double until) const;
};

/// The size a running job is to have. Units as its request counts them, base included.
struct Plan {
  std::uint32_t units = 0;  ///< 0: it is not resized
  std::uint32_t base = 0, held = 0;
  double since = -1;                 ///< when `units` became what it is; < 0: never changed
  std::vector<UnitPiece> grants;     ///< to be asked for, in this order; node is the engine's own
  std::vector<std::uint32_t> leave;  ///< companions that are to go first
  std::string reason;                ///< one sentence
  std::string change;                ///< why it is no longer what it was before

  // what holds growth back
  unsigned refusals = 0;
  double refusal_taken = 0;    ///< refused_at of the last refusal that counted
  double no_growth_until = 0;  ///< seconds since the epoch
  std::string no_growth_why;
  double offered_at = -1;  ///< since when grants have stood unused; < 0: none do
  std::uint32_t held_before = 0;
  std::uint32_t dry_run_units = 0;  ///< what was said that would be wanted
};

/// Whole nodes that a running job is to give back.
struct ShrinkState {
  std::uint32_t keep = 0;   ///< nodes that it is to keep; 0: all
  double since = -1;        ///< when that was said
  std::size_t settled = 0;  ///< so many nodes that its agent left are out of its allocation
  double not_before = 0;    ///< nothing is tried until then
  double done_at = -1;      ///< when Slurm took nodes out last
  std::string why, why_not_yet;
};

}  // namespace mlq::engine
