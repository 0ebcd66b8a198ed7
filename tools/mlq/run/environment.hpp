// SPDX-License-Identifier: GPL-2.0-or-later
// The environments that the agent gives to others: its workers, and the commands that submit companions.
#pragma once

#include <cstdint>
#include <string>

#include "tools/mlq/run/processes.hpp"

namespace mlq::run {

/// One worker's place in the group.
struct Place {
  std::int64_t generation = 0, rank = 0, world = 1, local_rank = 0, local_world = 1;
  std::string address;
  std::int64_t port = 0, units = 0, cores = 0;
  bool joining = false;
};

/// What every worker gets beside its place: the parent's variables over those of the node's own job, without
/// secrets. Which GPUs it sees is the node's own business: all that the job has there; LOCAL_RANK is which of
/// them is a rank's, as under torchrun.
Environment base_environment(const Environment& node, const Environment& parent);

/// RANK, WORLD_SIZE, MASTER_ADDR … and MLQ_*. OMP_NUM_THREADS only where nobody has set it.
Environment worker_environment(const Environment& base, const Place& place, const std::string& agent_socket,
                               std::int64_t node_cores);

/// Without whatever Slurm's commands would take for an option (SLURM_*, SBATCH_* …), but SLURM_CONF; and
/// without what belongs to this job alone (MLQ_*, ML_QUALITY).
Environment command_environment(const Environment& own);

/// Only what a batch script needs to start `mlq run --join`: the shell's basics, SLURM_CONF, nothing of the
/// job.
Environment companion_environment(const Environment& own);

}  // namespace mlq::run
