// SPDX-License-Identifier: GPL-2.0-or-later
// Engine: to mlqd.
#include <algorithm>

#include "slurm-plugin/engine/engine.hpp"

namespace mlq::engine {
namespace {

constexpr std::size_t jobs_per_message = 200;  ///< keeps a message below 1 MiB
constexpr double tell_again_s = 55;
constexpr double sure_gone_s = 30;  ///< a job may be missed by one snapshot

}  // namespace

std::vector<Job*> Engine::jobs_to_push(double now) {
  std::vector<Job*> jobs;
  for (auto& [id, entry] : jobs_) {
    Job& job = *entry;
    if (job.request().off || job.request().companion != 0 || job.seen().submit <= 0) continue;
    const bool gone = !job.in_snapshot;
    if (gone
            ? job.told_end || now - job.gone_at < sure_gone_s
            : job.pushed_at >= 0 && now - job.pushed_at < tell_again_s && job.pushed_print == print_of(job)) {
      continue;
    }
    jobs.push_back(&job);
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job* a, const Job* b) { return a->pushed_at < b->pushed_at; });
  return jobs;
}

/// Jobs that ended while no slurmctld with this plugin looked: mlqd would take them for alive for ever.
std::vector<wire::Json> Engine::orphans(double now) {
  std::vector<wire::Json> messages;
  std::vector<OpenJob> open;
  if (reconciled_ || !caught_up_ || !client_.open_jobs(now, open)) return messages;
  reconciled_ = true;
  for (const OpenJob& job : open) {
    const auto known = jobs_.find(job.job_id);
    const bool same = known != jobs_.end() &&
                      (known->second->seen().submit == job.submit ||
                       (known->second->seen().restarts > 0 && job.submit < known->second->seen().submit));
    if (!same) messages.push_back(orphan_message(job));
  }
  return messages;
}

bool Engine::push_chunk(const CycleHeader& header, std::span<Job* const> jobs,
                        std::vector<wire::Json> orphans) {
  const std::vector<FamilyRecord> families = families_.unsent();
  std::vector<wire::Json> messages = std::move(orphans);
  for (const Job* job : jobs) {
    messages.push_back(
        job_message(*job, companions_.of(job->seen().job_id), header, !job->in_snapshot && !job->ended()));
  }
  if (!client_.cycle(cycle_message(header, std::move(messages), families), header.time)) return false;
  families_.mark_sent(families);
  for (Job* job : jobs) {
    job->pushed_at = header.time;
    job->pushed_print = print_of(*job);
    job->told_end = job->ended() || !job->in_snapshot;
  }
  return true;
}

int Engine::push(double now, const mlq_cycle_stats_t* stats) {
  if (!pulled_ || config_.mode == MLQ_MODE_OFF) return -1;
  const CycleHeader header{cluster_, now, &config_, stats, pull_ms_, decide_ms_, spent_};
  const std::vector<Job*> jobs = jobs_to_push(now);
  std::vector<wire::Json> unknown = orphans(now);
  std::size_t done = 0;
  do {
    const std::size_t count = std::min(jobs_per_message, jobs.size() - done);
    if (!push_chunk(header, std::span(jobs).subspan(done, count), std::move(unknown))) return -1;
    unknown.clear();
    done += count;
  } while (done < jobs.size() && client_.time_left());
  return done < jobs.size() ? -1 : 0;
}

}  // namespace mlq::engine
