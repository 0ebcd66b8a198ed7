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
    wants_cluster_ |= on && config_.resize != MLQ_RESIZING_OFF && targets_.concerns(*seen.job);
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const Job* a, const Job* b) { return a->seen().job_id < b->seen().job_id; });
  if (on) targets_.update(now, cluster_seen_, jobs, companions_, spent_);
  size_pending_jobs(now);
  cluster_seen_ = nullptr;
  if (config_.mode == MLQ_MODE_DRY_RUN) say_sizes();
  endings_ = companions_.endings(now, config_.lead_s, config_.mode == MLQ_MODE_ACTIVE);
}

void Engine::size_pending_jobs(double now) {
  std::vector<Sizer::Pending> pending;
  for (const Seen& seen : seen_) {
    if (seen.job == nullptr) continue;
    seen.job->size_reason.clear();
    if (seen.snapshot->state != MLQ_JOB_PENDING || config_.mode == MLQ_MODE_OFF) continue;
    Sizer::Pending one{seen.job, seen.snapshot,
                       config_.sizing ? targets_.switched_off(*seen.job) : "mlq_sizing=off"};
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
