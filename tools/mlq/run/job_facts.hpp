// SPDX-License-Identifier: GPL-2.0-or-later
// What the agent knows of its job before anything runs.
#pragma once

#include <cstdint>
#include <string>

#include "tools/mlq/run/companion_plan.hpp"
#include "tools/mlq/run/node_size.hpp"

namespace mlq::run {

struct JobFacts {
  Environment own;
  NodeSize size;
  std::vector<std::int64_t> cores;  ///< of each node of the base allocation
  Unit unit;
  RanksRule ranks;
  std::string url, token, cluster;  ///< of mlqd; "" = not a job of --ml-quality
  std::string request;              ///< what was given to --ml-quality
  bool resizable = false;
  std::string why_not;   ///< when it is not
  bool requeue = false;  ///< it was submitted with resize=requeue
};

/// From the environment. Throws cli::Error for a wrong --ranks.
JobFacts job_facts(const std::string& ranks, bool no_resize);

/// Units of a node of the base allocation that has so many cores and GPUs.
std::int64_t units_on(const JobFacts& facts, std::int64_t cores, std::int64_t gpus);

}  // namespace mlq::run
