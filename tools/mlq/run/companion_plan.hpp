// SPDX-License-Identifier: GPL-2.0-or-later
// Which companions a job should have: pure decisions of the agent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlq::run {

/// A piece that the scheduler would give: it fits on one node.
struct Grant {
  std::string partition;
  std::int64_t units = 0;
  std::string gpu_type{};  ///< of its GPUs; "" = any, or none are asked for
};

/// What mlqd says of a job's size.
struct Target {
  std::int64_t units = 0, base = 0;  ///< wanted in all, of these in the base allocation
  std::vector<Grant> grants;         ///< in the order to be asked for
  double lead = 0;                   ///< seconds; 0 = not said
  std::string reason;
  std::vector<std::int64_t> leave;  ///< companions that must go, whichever others may
  std::int64_t keep_nodes = 0;      ///< of the base allocation; 0: all
  double requeue_at = 0;            ///< since when the job is to save, to be requeued; 0: it is not
  double requeue_grace = 300;       ///< seconds that it may take
  std::int64_t unit_gpus = 0;       ///< GPUs of a unit; 0 = none, or not said
  std::int64_t unit_cores = 0;      ///< cores beside a unit's GPUs; 0 = not said
};

/// The answer to GET /v1/jobs/N, with `only=target` or without. A target that makes no sense is none.
struct JobNews {
  std::optional<Target> target;
  double poll = 0;      ///< seconds until it is to be asked again; 0 = not said
  std::string request;  ///< what the user gave to --ml-quality
};
std::optional<JobNews> parse_job_news(const std::string& answer);

enum class CompanionState { pending, joined, leaving };

struct CompanionView {
  std::int64_t units = 0;
  CompanionState state = CompanionState::pending;
  std::string partition;
  std::int64_t job = 0;  ///< 0 = sbatch has not answered yet
};

struct CompanionPlan {
  std::vector<std::size_t> release;  ///< indices of those that go
  std::vector<Grant> submit;
};

/// `companions` from the oldest to the newest. Those that the target names go in any case. Goes down to the
/// wanted size by letting pending ones go first, then keeping the set that is worth most units within it, the
/// oldest where there is a choice. Goes up by grants that are not asked for yet.
CompanionPlan plan_companions(const Target& target, const std::vector<CompanionView>& companions);

/// Minutes for sbatch's --time from squeue's %L of the parent ("1-02:03:04", "5:00"): never more than is
/// left, at least 1; 0 for a parent without a limit, nothing for what is no time.
std::optional<std::int64_t> companion_minutes(std::string_view time_left);
/// Seconds of squeue's %L; nothing for what is no time; -1 = unlimited.
std::optional<std::int64_t> parse_time_left(std::string_view text);

/// What the parent passes on to a companion.
struct ParentJob {
  std::int64_t job = 0;
  std::string name, account, qos, reservation, constraint, nodes_excluded;
  std::int64_t minutes = 0;         ///< 0 = no limit
  std::int64_t memory_per_cpu = 0;  ///< MB, 0 = not asked for
  std::int64_t memory_per_gpu = 0;  ///< MB, 0 = not asked for; goes before that per CPU
};

enum class UnitKind { cores, gpu, node };
struct Unit {
  UnitKind kind = UnitKind::cores;
  std::int64_t cores = 1;  ///< of one unit; with a GPU those beside it; 0 for a whole node
  std::int64_t gpus = 0;   ///< of one unit
};

/// The unit as the scheduler counts it, which knows all nodes of the base.
Unit unit_of(const Target& target, Unit own);

/// The command that submits it; `script` is what its batch script runs.
std::vector<std::string> sbatch_command(const ParentJob& parent, const Unit& unit, const Grant& grant,
                                        const std::string& directory, const std::string& script);

/// A word for the shell.
std::string shell_quoted(const std::string& word);

/// Job id that `sbatch --parsable` prints ("4711" or "4711;cluster"); 0 for anything else.
std::int64_t parse_sbatch(std::string_view output);

}  // namespace mlq::run
