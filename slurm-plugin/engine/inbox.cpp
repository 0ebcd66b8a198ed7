// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/inbox.hpp"

namespace mlq::engine {

void Inbox::put(const ReportedPoint& point, double now) {
  Box& box = boxes_[{point.job_id, point.submit}];
  if (box.points.empty()) box.since = now;
  box.points.push_back(point.point);
  points_++;
}

std::vector<LossPoint> Inbox::take(std::uint32_t job_id, std::int64_t submit, bool requeued) {
  std::vector<LossPoint> points, provisional;
  for (auto at = boxes_.lower_bound({job_id, 0}); at != boxes_.end() && at->first.first == job_id;) {
    const std::int64_t box_submit = at->first.second;
    if (box_submit != 0 && box_submit != submit && !(requeued && box_submit < submit)) {
      ++at;
      continue;
    }
    std::vector<LossPoint>& to = box_submit == 0 ? provisional : points;
    to.insert(to.end(), at->second.points.begin(), at->second.points.end());
    points_ -= at->second.points.size();
    at = boxes_.erase(at);
  }
  points.insert(points.end(), provisional.begin(), provisional.end());
  return points;
}

void Inbox::put(const AgentReport& agent, double now) {
  agents_[{agent.job_id, agent.submit}] = {now, agent};
}

std::optional<AgentReport> Inbox::take_agent(std::uint32_t job_id, std::int64_t submit, bool requeued) {
  std::optional<AgentReport> newest;
  for (auto at = agents_.lower_bound({job_id, 0}); at != agents_.end() && at->first.first == job_id;) {
    const std::int64_t box_submit = at->first.second;
    if (box_submit != 0 && box_submit != submit && !(requeued && box_submit < submit)) {
      ++at;
      continue;
    }
    if (!newest || at->second.agent.received >= newest->received) newest = std::move(at->second.agent);
    at = agents_.erase(at);
  }
  return newest;
}

void Inbox::drop_old(double now) {
  for (auto at = boxes_.begin(); at != boxes_.end();) {
    if (now - at->second.since > keep_s || now < at->second.since) {
      points_ -= at->second.points.size();
      at = boxes_.erase(at);
    } else {
      ++at;
    }
  }
  std::erase_if(agents_,
                [now](const auto& box) { return now - box.second.since > keep_s || now < box.second.since; });
}

void Inbox::clear() {
  boxes_.clear();
  agents_.clear();
  points_ = 0;
}

}  // namespace mlq::engine
