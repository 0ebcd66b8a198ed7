// SPDX-License-Identifier: GPL-2.0-or-later
// Engine: sizes of running jobs, and companions that have to go.
#include <algorithm>

#include "slurm-plugin/engine/engine.hpp"

namespace mlq::engine {

void Engine::resize(double now) {
  const bool on = config_.mode != MLQ_MODE_OFF;
  std::vector<Job*> jobs;
  jobs.reserve(seen_.size());
  wants_cluster_ = false;
  for (const Seen& seen : seen_) {
    if (seen.job == nullptr) continue;
    if (!on) seen.job->plan = Plan();
    jobs.push_back(seen.job);
    wants_cluster_ |= on && config_.resize != MLQ_RESIZING_OFF &&
                      (targets_.concerns(*seen.job) || Requeues::concerns(*seen.job));
    note_written(seen, now);
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const Job* a, const Job* b) { return a->seen().job_id < b->seen().job_id; });
  if (on) targets_.update(now, cluster_seen_, jobs, companions_, spent_);
  requeues_.update(now, on ? cluster_seen_ : nullptr, jobs,
                   [this](const Job& job) { return why_no_requeue(job); });
  node_shrinks_.update(now, on ? cluster_seen_ : nullptr, jobs,
                       [this](const Job& job) { return targets_.switched_off(job); });
  size_pending_jobs(now);
  cluster_seen_ = nullptr;
  if (config_.mode == MLQ_MODE_DRY_RUN) say_sizes();
  endings_ = companions_.endings(now, config_.lead_s, config_.mode == MLQ_MODE_ACTIVE);
}

/// The announcement of a requeue counts once slurmctld holds it.
void Engine::note_written(const Seen& seen, double now) {
  RequeueState& state = seen.job->requeue;
  if (state.kept.at <= 0 || state.written_at >= 0 || seen.snapshot->admin_comment == nullptr) return;
  const std::optional<CommentFields> fields = read_comment(seen.snapshot->admin_comment);
  if (fields && fields->requeue.at == state.kept.at) state.written_at = now;
}

std::string Engine::why_no_requeue(const Job& job) const {
  if (config_.resize == MLQ_RESIZING_COMPANION)
    return "mlq_resize=companion: the site requeues no job for its size";
  return targets_.switched_off(job);
}

void Engine::requeue_done(double now, const mlq_requeue_t& requeue, const char* error) {
  const auto found = jobs_.find(requeue.job_id);
  if (found == jobs_.end() || found->second->seen().submit != requeue.submit_time) return;
  requeues_.done(*found->second, requeue.kind, error, now);
}

void Engine::node_shrink_done(double now, const mlq_node_shrink_t& shrink, const char* error) {
  const auto found = jobs_.find(shrink.job_id);
  if (found == jobs_.end() || found->second->seen().submit != shrink.submit_time) return;
  node_shrinks_.done(*found->second, error, now);
}

void Engine::size_pending_jobs(double now) {
  std::vector<Sizer::Pending> pending;
  for (const Seen& seen : seen_) {
    if (seen.job == nullptr) continue;
    seen.job->size_reason.clear();
    if (seen.snapshot->state != MLQ_JOB_PENDING || config_.mode == MLQ_MODE_OFF) continue;
    Sizer::Pending one{seen.job, seen.snapshot,
                       config_.sizing ? targets_.switched_off(*seen.job) : "mlq_sizing=off", 0};
    one.wanted = requeues_.wanted(*seen.job);
    if (!sizer_.concerns(one)) continue;
    wants_cluster_ |= one.off.empty();
    pending.push_back(std::move(one));
  }
  sizings_ = sizer_.decide(now, config_, pending, cluster_seen_,
                           [this](const Job& job) { return families_.find(job.family()); });
}

/// Says what an active engine would want, when that is something new.
void Engine::say_sizes() {
  constexpr int lines_per_cycle = 20;
  int lines = 0;
  for (const Seen& seen : seen_) {
    if (seen.job == nullptr || seen.job->plan.units == seen.job->plan.dry_run_units) continue;
    if (lines++ >= lines_per_cycle) return;
    Plan& plan = seen.job->plan;
    plan.dry_run_units = plan.units;
    log_.line(MLQ_LOG_INFO, "dry-run: job=%u target=%u held=%u: %s", seen.job->seen().job_id, plan.units,
              plan.held, plan.reason.c_str());
  }
}

}  // namespace mlq::engine
