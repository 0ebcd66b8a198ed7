// SPDX-License-Identifier: GPL-2.0-or-later
// `mlq run --join` and `--node-agent`: the agent of a node that follows a head over a link.
#pragma once

#include <string>

namespace mlq::run {

/// Follows the head at host:port until it says leave, its workers have left, or it is gone; then ends the
/// workers. The secret and the ticket are in MLQ_AGENT_SECRET and MLQ_AGENT_TICKET. Returns the exit code;
/// throws cli::Error.
int follow_head(const std::string& place);

}  // namespace mlq::run
