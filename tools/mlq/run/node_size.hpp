// SPDX-License-Identifier: GPL-2.0-or-later
// How large this node's part of a job is, from what Slurm put into the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/mlq/run/processes.hpp"

namespace mlq::run {

struct NodeSize {
  std::int64_t job = 0;    ///< 0 outside a job
  std::int64_t cores = 1;  ///< of the job on this node; outside a job those this process may use
  std::int64_t gpus = 0;
  std::int64_t nodes = 1, node = 0;  ///< of the allocation; which one this is
};
NodeSize node_size(const Environment& environment);

/// "8(x2),4" as {8, 8, 4}; nothing for anything else, and for more than `most` nodes.
std::optional<std::vector<std::int64_t>> cores_per_node(std::string_view text, std::size_t most = 65536);

/// `--ranks`: a rank per unit, one per node, or so many per node.
struct RanksRule {
  enum Kind { per_unit, per_node, number } kind = per_unit;
  std::int64_t count = 1;
};
/// Nothing unless it is "unit", "node" or a number from 1 to 4096.
std::optional<RanksRule> parse_ranks(const std::string& text);
std::int64_t ranks_of(const RanksRule& rule, std::int64_t units);

}  // namespace mlq::run
