// SPDX-License-Identifier: GPL-2.0-or-later
// What the agent tells mlqd of itself: POST /v1/agent of doc/protocol.md.
#pragma once

#include <string>

#include "tools/mlq/run/companions.hpp"
#include "tools/mlq/run/group.hpp"

namespace mlq::run {

/// companions may be nullptr: none are possible. why_not: why none can be had at all; else the companions'
/// own refusal counts.
std::string agent_report(const Group& group, const Companions* companions, bool saves,
                         const Refusal& why_not);

}  // namespace mlq::run
