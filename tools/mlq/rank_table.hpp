// SPDX-License-Identifier: GPL-2.0-or-later
// Batches and speeds of the ranks of a job, as libmlq_balance reports them.
#pragma once

#include <string>
#include <vector>

#include "tools/mlq/collector.hpp"
#include "tools/mlq/job_table.hpp"
#include "tools/mlq/job_view.hpp"

namespace mlq::cli {

struct JobRanks {
  std::string job;  ///< its id as shown
  std::vector<RankView> ranks;
};

/// By rank; empty when the job has reported none. Throws Error.
std::vector<RankView> ask_ranks(const Place& place, std::uint32_t job_id);

/// Columns JOBID RANK NODE BATCH SPEED AGE, as format_table() has them.
std::vector<std::string> format_ranks(const std::vector<JobRanks>& jobs, double now, TableStyle style,
                                      Header header);

/// [{"rank", "node", "batch", "speed", "age"}, ...]; what is not known is null.
json_t* ranks_json(const std::vector<RankView>& ranks, double now);

}  // namespace mlq::cli
