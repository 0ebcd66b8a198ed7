// SPDX-License-Identifier: GPL-2.0-or-later
// Engine: from a snapshot to decisions.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/allocation/ranking.hpp"
#include "slurm-plugin/engine/engine.hpp"

namespace mlq::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double stale_s = 60;  ///< decisions older than that count for nothing
constexpr double hold_s = 60;   ///< how long a new engine may take to read the store
constexpr double comment_running_s = 5;
constexpr double comment_pending_s = 30;
constexpr double final_wait_s = 30;  ///< after that the last text is written without mlqd
constexpr auto fit_budget = std::chrono::milliseconds(500);

/// Changes below a thousandth of the weight are noise, not worth a lock.
std::uint32_t dead_band(std::uint32_t weight) {
  return weight / 1000;
}

double milliseconds_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

/// Whether AdminComment lacks what a slurmctld that starts anew could learn nowhere else.
bool unsaved(const Job& job) {
  return !(job.requeue.kept == job.requeue.saved) || job.shrunk_core_seconds() != job.shrunk_saved;
}

}  // namespace

int Engine::decide(double now, const mlq_job_snapshot_t* jobs, std::size_t count) {
  const auto began = Clock::now();
  if (!began_) began_ = now;
  decisions_.clear();
  comments_.clear();
  endings_ = {};
  sizings_ = {};
  see(now, jobs, count);
  drain(now);
  const auto fitting = Clock::now();
  fit(now);
  spent_ = DecisionTime();
  spent_.fit = milliseconds_since(fitting);
  expect(now);
  rank(config_.mode == MLQ_MODE_OFF || !stale(now));
  for (std::size_t i = 0; i < seen_.size(); i++) {
    if (seen_[i].job != nullptr) decide_job(now, i, seen_[i]);
  }
  resize(now);
  if (config_.mode == MLQ_MODE_DRY_RUN) say_dry_run();
  learn();
  forget_gone(now);
  decide_ms_ = milliseconds_since(began);
  return 0;
}

bool Engine::stale(double now) const {
  const double limit = std::max(stale_s, 3.0 * config_.interval_s);
  return now - last_pull_.value_or(*began_) > limit;
}

/// A new engine keeps what its predecessor decided until it has read what mlqd knows.
bool Engine::holding(double now) const {
  return config_.mode == MLQ_MODE_ACTIVE && !caught_up_ && now - *began_ <= hold_s;
}

Job* Engine::entry_for(const mlq_job_snapshot_t& snapshot, double now) {
  const bool named = snapshot.user != nullptr && snapshot.user[0] != '\0';
  const std::string user = named ? snapshot.user : users_.of(snapshot.user_id);
  std::unique_ptr<Job>& entry = jobs_[snapshot.job_id];
  const bool same = entry && (entry->seen().submit == snapshot.submit_time ||
                              (snapshot.restarts > 0 && snapshot.restarts >= entry->seen().restarts &&
                               snapshot.user_id == entry->seen().user_id));
  if (same) {
    entry->see(snapshot, user, now);
  } else {
    entry = std::make_unique<Job>(snapshot, user, now);
    if (!entry->request_error().empty()) {
      log_.line(MLQ_LOG_INFO, "job %u: --ml-quality not understood, defaults are used: %s", snapshot.job_id,
                entry->request_error().c_str());
    }
  }
  return entry.get();
}

void Engine::see(double now, const mlq_job_snapshot_t* jobs, std::size_t count) {
  seen_.clear();
  companions_.start_snapshot();
  for (auto& [id, job] : jobs_) {
    job->in_snapshot = false;
    job->companions.live = 0;
    job->companions.live_cores = job->companions.live_core_s = 0;
  }
  for (std::size_t i = 0; i < count; i++) {
    Job* job = entry_for(jobs[i], now);
    job->in_snapshot = true;
    if (job->ended() && job->ended_seen < 0) job->ended_seen = now;
    if (!job->ended()) {
      job->ended_seen = -1;
      job->told_end = false;
    }
    const std::uint32_t parent = job->request().companion;
    if (parent != 0) companions_.see(jobs[i], parent, now);
    seen_.push_back({&jobs[i], job->request().off || parent != 0 ? nullptr : job});
  }
  std::vector<Job*> linked;
  for (const Seen& seen : seen_) {
    if (seen.job != nullptr) linked.push_back(seen.job);
  }
  requeues_.link(linked);
  companions_.link(now, [this](std::uint32_t id) {
    const auto found = jobs_.find(id);
    return found == jobs_.end() || !found->second->in_snapshot ? nullptr : found->second.get();
  });
}

void Engine::drain(double now) {
  for (const Seen& seen : seen_) {
    if (seen.job == nullptr) continue;
    const SlurmView& view = seen.job->seen();
    if (const auto agent = inbox_.take_agent(view.job_id, view.submit, view.restarts > 0))
      seen.job->hear(*agent);
    const std::vector<LossPoint> points = inbox_.take(view.job_id, view.submit, view.restarts > 0);
    if (points.empty()) continue;
    seen.job->take(points);
    seen.job->drained_at = now;
  }
}

/// Those that waited longest first; who does not get a turn keeps the fit that it has.
void Engine::fit(double now) {
  std::vector<Job*> waiting;
  for (const Seen& seen : seen_) {
    if (seen.job != nullptr && seen.job->wants_fit()) waiting.push_back(seen.job);
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const Job* a, const Job* b) { return a->fitted_at < b->fitted_at; });
  const auto end = Clock::now() + fit_budget;
  for (Job* job : waiting) {
    if (Clock::now() >= end) break;
    job->refit();
    job->fitted_at = now;
  }
}

void Engine::expect(double now) {
  const double horizon = config_.horizon_s;
  for (const Seen& seen : seen_) {
    if (seen.job == nullptr) continue;
    seen.job->expected = seen.job->outlook(horizon, families_.find(seen.job->family()));
    seen.job->measure(seen.job->expected, horizon, now);
  }
}

void Engine::rank(bool trusted) {
  if (trusted == was_stale_) {
    was_stale_ = !trusted;
    log_.line(MLQ_LOG_INFO,
              trusted ? "ranking again" : "no word from mlqd for long: ML jobs go back to plain Slurm order");
  }
  for (const Seen& seen : seen_) {
    if (seen.job != nullptr) seen.job->standing = Standing();
  }
  rank_state(MLQ_JOB_PENDING, trusted);
  rank_state(MLQ_JOB_RUNNING, trusted);
}

void Engine::rank_state(mlq_job_state_t state, bool trusted) {
  std::vector<RankInput> inputs;
  std::vector<Job*> ranked;
  for (const Seen& seen : seen_) {
    if (seen.job == nullptr || seen.job->seen().state != state) continue;
    Job& job = *seen.job;
    job.standing.gain_per_core = job.expected.gain / job.cores_held();
    if (!trusted || (state == MLQ_JOB_PENDING && !seen.snapshot->rankable)) continue;
    inputs.push_back({job.seen().job_id, job.expected.gain, job.cores_held()});
    ranked.push_back(&job);
  }
  const std::vector<RankResult> results = rank_by_gain(inputs);
  for (std::size_t i = 0; i < results.size(); i++) {
    Standing& standing = ranked[i]->standing;
    standing.score = results[i].score;
    standing.rank = static_cast<std::uint32_t>(results[i].rank);
    standing.ranked = static_cast<std::uint32_t>(results.size());
    if (state != MLQ_JOB_PENDING) continue;
    standing.site_factor =
        static_cast<std::uint32_t>(std::lround(config_.weight * std::clamp(results[i].score, 0.0, 1.0)));
    if (caught_up_) ranked[i]->note_rank(standing.rank);
  }
}

/// True with the site factor to set, when the present one is not it.
bool Engine::wants_site(const Seen& seen, std::uint32_t& site) const {
  const Job& job = *seen.job;
  const std::uint32_t present = seen.snapshot->site_factor;
  if (job.seen().state != MLQ_JOB_PENDING || !seen.snapshot->rankable) return false;
  if (config_.mode != MLQ_MODE_ACTIVE) {
    site = 0;
    return present > 0 && (job.site_owned || job.restored_site() > 0);
  }
  site = job.standing.site_factor;
  if (site == 0 || present == 0) return site != present;
  return std::max(site, present) - std::min(site, present) > dead_band(config_.weight);
}

bool Engine::comment_due(const Job& job, double now) const {
  const double since = job.commented_at < 0 ? INFINITY : now - job.commented_at;
  switch (job.seen().state) {
    case MLQ_JOB_PENDING:
      return (job.standing.rank > 0 && since >= comment_pending_s) || job.asked != job.asked_saved;
    case MLQ_JOB_RUNNING:
    case MLQ_JOB_SUSPENDED:
      return since >= comment_running_s || unsaved(job);
    case MLQ_JOB_ENDED:
      break;
  }
  if (!job.ever_ran()) return false;
  const bool all_told = job.companions.live == 0 && pulled_ && caught_up_ &&
                        last_pull_.value_or(-1) > job.ended_seen && !job.wants_fit();
  return all_told || now - job.ended_seen > final_wait_s;
}

void Engine::decide_job(double now, std::size_t index, const Seen& seen) {
  Job& job = *seen.job;
  mlq_decision_t decision{};
  decision.index = index;
  decision.job_id = seen.snapshot->job_id;
  decision.restarts = seen.snapshot->restarts;
  decision.submit_time = seen.snapshot->submit_time;
  decision.set_site_factor = !holding(now) && wants_site(seen, decision.site_factor);
  if (decision.set_site_factor) job.site_owned = decision.site_factor > 0;
  if (config_.mode == MLQ_MODE_ACTIVE && !holding(now) && comment_due(job, now)) {
    const char* existing = seen.snapshot->admin_comment;
    std::optional<std::string> text = merge_comment(existing == nullptr ? "" : existing, job.comment(now));
    job.commented_at = now;
    if (text && (existing == nullptr || *text != existing)) {
      decision.save = unsaved(job);
      job.shrunk_saved = job.shrunk_core_seconds();
      job.requeue.saved = job.requeue.kept;
      job.asked_saved = job.asked;
      decision.admin_comment = comments_.emplace_back(std::move(*text)).c_str();
    }
  }
  if (decision.set_site_factor || decision.admin_comment != nullptr) decisions_.push_back(decision);
}

/// Says what an active engine would do, when it would do something new.
void Engine::say_dry_run() {
  constexpr int lines_per_cycle = 20;
  int lines = 0;
  for (const Seen& seen : seen_) {
    if (seen.job == nullptr || seen.job->standing.rank == 0 || seen.job->seen().state != MLQ_JOB_PENDING)
      continue;
    Job& job = *seen.job;
    const std::uint32_t site = job.standing.site_factor, said = job.dry_run_site;
    if (std::max(site, said) - std::min(site, said) <= dead_band(config_.weight)) continue;
    if (lines++ >= lines_per_cycle) return;
    job.dry_run_site = site;
    log_.line(MLQ_LOG_INFO, "dry-run: job=%u site_factor=%u rank=%u ranked=%u", job.seen().job_id, site,
              job.standing.rank, job.standing.ranked);
  }
}

void Engine::learn() {
  if (!caught_up_) return;
  for (const Seen& seen : seen_) {
    if (seen.job == nullptr || !seen.job->ended() || !pulled_ ||
        last_pull_.value_or(-1) <= seen.job->ended_seen)
      continue;
    if (const std::optional<RunSummary> run = seen.job->summary()) families_.add(seen.job->family(), *run);
  }
}

/// A job that Slurm no longer has is kept until mlqd was told, or for some minutes when it cannot be.
void Engine::forget_gone(double now) {
  constexpr double keep_s = 600;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    Job& job = *at->second;
    if (job.in_snapshot) {
      job.gone_at = -1;
    } else if (job.gone_at < 0) {
      job.gone_at = now;
    }
    const bool gone = !job.in_snapshot && (job.told_end || job.request().off ||
                                           job.request().companion != 0 || now - job.gone_at > keep_s);
    at = gone ? jobs_.erase(at) : std::next(at);
  }
}

}  // namespace mlq::engine
