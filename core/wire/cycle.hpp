// SPDX-License-Identifier: GPL-2.0-or-later
// The body of POST /v1/cycle: what a scheduler saw and decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlq::wire {

struct CycleJob {
  std::uint32_t job_id = 0;
  std::uint32_t uid = 0;
  std::uint32_t restarts = 0;
  std::int64_t submit = 0;
  std::int64_t end = 0;           ///< 0 = not ended
  std::int64_t array_job_id = 0;  ///< 0 = of no array
  bool ended = false;
  std::string user;
  std::string info;                   ///< JSON object of the members that protocol.md names, without status
  std::optional<std::string> status;  ///< JSON object
};

struct CycleFamily {
  std::string name;
  std::string data;  ///< JSON object, as sent
};

struct Cycle {
  std::string cluster;
  double time = 0;
  std::string data;  ///< JSON object: time, mode, weight, horizon, interval, stats
  std::vector<CycleJob> jobs;
  std::vector<CycleFamily> families;
};

/// Nothing, with an error that names the field and its index.
std::optional<Cycle> parse_cycle(std::string_view body, std::string& error);

}  // namespace mlq::wire
