// SPDX-License-Identifier: GPL-2.0-or-later
// The body of POST /v1/agent: how the agent of a running job stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mlq::wire {

inline constexpr std::size_t kCompanionsMax = 1000;  ///< of one job
inline constexpr std::size_t kRefusedMax = 1024;     ///< bytes of `refused`

struct AgentState {
  std::uint32_t job_id = 0;  ///< whose state the sender says it is, 0 = not said
  double time = 0;           ///< seconds since the epoch by the agent's clock
  std::string data;          ///< JSON object: the members that doc/protocol.md names, checked
};

/// Nothing, with an error that names the field and its index, when any part is wrong.
std::optional<AgentState> parse_agent(std::string_view body, std::string& error);

}  // namespace mlq::wire
