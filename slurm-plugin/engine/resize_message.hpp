// SPDX-License-Identifier: GPL-2.0-or-later
// What mlqd is told of a job's size (doc/protocol.md, status.target and what stands beside it).
#pragma once

#include <span>

#include "core/wire/wire.hpp"
#include "slurm-plugin/engine/job.hpp"

namespace mlq::engine {

/// Adds to `status` the target that its agent reads, and what mlq explain and mlq report tell of its size.
void put_size(json_t* status, const Job& job, std::span<Companion* const> companions, double now,
              const mlq_config_t& config);

}  // namespace mlq::engine
