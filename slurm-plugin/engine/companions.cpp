// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/companions.hpp"

#include <algorithm>
#include <cmath>

namespace mlq::engine {

double Companion::core_seconds(double until) const {
  if (start <= 0 || state == MLQ_JOB_PENDING) return 0;
  const double last = state == MLQ_JOB_ENDED && end > 0 ? std::min(until, end) : until;
  return cpus * std::max(0.0, last - start - suspended);
}

void Companions::start_snapshot() {
  for (auto& [id, companion] : companions_) companion.in_snapshot = false;
}

void Companions::see(const mlq_job_snapshot_t& s, std::uint32_t parent_id, double now) {
  Companion& companion = companions_[s.job_id];
  if (companion.submit != s.submit_time || companion.restarts != s.restarts) {
    companion = Companion();
    companion.job_id = s.job_id;
    companion.submit = s.submit_time;
    companion.restarts = s.restarts;
  }
  companion.user_id = s.user_id;
  companion.parent_id = parent_id;
  companion.state = s.state;
  companion.cpus = std::max<double>(1, s.cores);
  companion.gpus = s.gpus;
  companion.start = static_cast<double>(s.start_time);
  companion.end = static_cast<double>(s.end_time);
  companion.suspended = static_cast<double>(std::max<std::int64_t>(0, s.suspended_s));
  companion.node = s.nodes == 1 ? s.node : MLQ_NO_NODE;
  companion.in_snapshot = true;
  companion.seen = now;
}

void Companions::link_one(double now, Companion& companion, Job* parent) {
  const bool ours =
      parent != nullptr && parent->request().companion == 0 && parent->seen().user_id == companion.user_id;
  companion.believed = ours;
  const bool parent_runs =
      ours && (parent->seen().state == MLQ_JOB_RUNNING || parent->seen().state == MLQ_JOB_SUSPENDED);
  companion.orphan = companion.in_snapshot && companion.state != MLQ_JOB_ENDED && !parent_runs;
  if (!ours) return;
  count(now, companion, *parent);
  if (companion.in_snapshot && companion.state != MLQ_JOB_ENDED)
    by_parent_[companion.parent_id].push_back(&companion);
}

/// What runs is added anew each time; what ended, or was missed when it did, once.
void Companions::count(double now, Companion& companion, Job& parent) {
  Job::CompanionUse& use = parent.companions;
  if (companion.in_snapshot && companion.active()) {
    use.live++;
    use.live_cores += companion.state == MLQ_JOB_RUNNING ? companion.cpus : 0;
    use.live_core_s += companion.core_seconds(now);
    return;
  }
  if (companion.in_snapshot && companion.state == MLQ_JOB_PENDING) return;
  if (companion.counted) return;
  companion.counted = true;
  const double end = companion.state == MLQ_JOB_ENDED && companion.end > 0 ? companion.end : companion.seen;
  if (companion.start <= 0 || end <= use.counted_until) return;  // an earlier slurmctld counted it
  use.ended++;
  use.ended_core_s += companion.core_seconds(end);
  use.newest_end = std::max(use.newest_end, end);
}

std::span<Companion* const> Companions::of(std::uint32_t parent_id) const {
  const auto found = by_parent_.find(parent_id);
  return found == by_parent_.end() ? std::span<Companion* const>() : found->second;
}

std::vector<Companion*> Companions::pieces_of(std::uint32_t parent_id) const {
  std::vector<Companion*> pieces;
  for (Companion* companion : of(parent_id)) {
    if (companion->active()) pieces.push_back(companion);
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Companion* a, const Companion* b) {
    return a->start != b->start ? a->start > b->start : a->job_id > b->job_id;
  });
  return pieces;
}

void Companions::must_leave(Companion& companion, double now, const std::string& reason) {
  if (companion.leaving_since < 0) companion.leaving_since = now;
  companion.leaving_reason = reason;
}

void Companions::may_stay(Companion& companion) {
  if (companion.terminated_at < 0) companion.leaving_since = -1;
}

void Companions::end(Companion& companion, mlq_ending_kind_t kind, double now, std::string reason) {
  if (companion.terminated_at < 0) companion.terminated_at = now;
  mlq_ending_t ending{};
  ending.kind = kind;
  ending.job_id = companion.job_id;
  ending.restarts = companion.restarts;
  ending.user_id = companion.user_id;
  ending.submit_time = companion.submit;
  ending.parent_id = companion.parent_id;
  // nothing of a pending job runs that could leave
  ending.kill = companion.state == MLQ_JOB_PENDING || now - companion.terminated_at >= kill_after_s;
  ending.reason = reasons_.emplace_back(std::move(reason)).c_str();
  const bool again = companion.terminated_at < now && !ending.kill;
  if (!again) endings_.push_back(ending);
}

std::span<const mlq_ending_t> Companions::endings(double now, double lead_s, bool enforce) {
  endings_.clear();
  reasons_.clear();
  for (auto& [id, companion] : companions_) {
    if (!companion.in_snapshot || companion.state == MLQ_JOB_ENDED) continue;
    if (companion.orphan) {
      end(companion, MLQ_END_ORPHAN, now, "job " + std::to_string(companion.parent_id) + " does not run");
    } else if (enforce && companion.leaving_since >= 0 &&
               now - companion.leaving_since >= lead_s + backstop_s) {
      end(companion, MLQ_END_OVERSTAYED, now, companion.leaving_reason);
    }
  }
  return endings_;
}

void Companions::forget_gone(double now) {
  constexpr double keep_s = 600;  // one snapshot may miss a job
  std::erase_if(companions_, [&](const auto& entry) {
    return !entry.second.in_snapshot && now - entry.second.seen > keep_s;
  });
}

}  // namespace mlq::engine
