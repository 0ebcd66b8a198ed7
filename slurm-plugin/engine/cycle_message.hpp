// SPDX-License-Identifier: GPL-2.0-or-later
// What mlqd is told of a cycle (doc/protocol.md, POST /v1/cycle).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/wire/wire.hpp"
#include "slurm-plugin/engine/job.hpp"
#include "slurm-plugin/engine/mlqd_client.hpp"
#include "slurm-plugin/engine/targets.hpp"

namespace mlq::engine {

struct CycleHeader {
  std::string cluster;
  double time = 0;
  const mlq_config_t* config = nullptr;
  const mlq_cycle_stats_t* stats = nullptr;  ///< may be null
  double pull_ms = 0, decide_ms = 0;
  DecisionTime spent;  ///< parts of decide_ms
};

/// One job of the message, with its companions; `ended_unknown` says that Slurm has no such job any more.
wire::Json job_message(const Job& job, std::span<Companion* const> companions, const CycleHeader& header,
                       bool ended_unknown);
wire::Json orphan_message(const OpenJob& job);

/// Print of what of a job is worth telling again: equal prints need no new message.
std::size_t print_of(const Job& job);

/// The body; takes the messages over.
std::string cycle_message(const CycleHeader& header, std::vector<wire::Json> jobs,
                          const std::vector<FamilyRecord>& families);

/// One sentence: why this rank.
std::string reason_of(const Job& job, double horizon_s);

}  // namespace mlq::engine
