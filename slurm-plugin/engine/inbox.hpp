// SPDX-License-Identifier: GPL-2.0-or-later
// Points that mlqd told of and no job has taken yet: mlqd may know a job before the next snapshot does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "slurm-plugin/engine/mlqd_client.hpp"

namespace mlq::engine {

using JobKey = std::pair<std::uint32_t, std::int64_t>;  ///< (job id, submit time)

class Inbox {
 public:
  static constexpr std::size_t max_points = 500000;
  static constexpr double keep_s = 120;  ///< points of a job that no snapshot shows are dropped after that

  bool full() const { return points_ >= max_points; }
  void put(const ReportedPoint& point, double now);
  /// What is there for the job: of its submit time, of earlier ones when it was requeued (a requeue sets a
  /// new submit time), and of the provisional entry (submit 0), in that order of age.
  std::vector<LossPoint> take(std::uint32_t job_id, std::int64_t submit, bool requeued);
  /// The newest state of its agent, by the same rules as points.
  void put(const AgentReport& agent, double now);
  std::optional<AgentReport> take_agent(std::uint32_t job_id, std::int64_t submit, bool requeued);
  void drop_old(double now);
  void clear();

 private:
  struct Box {
    double since = 0;
    std::vector<LossPoint> points;
  };
  struct AgentBox {
    double since = 0;
    AgentReport agent;
  };
  std::map<JobKey, Box> boxes_;
  std::map<JobKey, AgentBox> agents_;
  std::size_t points_ = 0;
};

}  // namespace mlq::engine
