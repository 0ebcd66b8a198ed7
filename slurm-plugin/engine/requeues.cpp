// SPDX-License-Identifier: GPL-2.0-or-later
// Requeues: the way of one job, from the announcement to its first report at the new size.
#include "slurm-plugin/engine/requeues.hpp"

#include <algorithm>
#include <cmath>

namespace mlq::engine {
namespace {

std::string whole(double value) {
  return std::to_string(std::lround(value));
}

std::string counted(std::uint32_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string units_text(std::uint32_t units, const SizeRange& range) {
  return range.counts_gpus() ? counted(units * range.gpus, "GPU") : counted(units, "unit");
}

/// What a job that was to save ends with by itself; whatever else ended it, a user or a limit, is to stand.
bool ended_by_itself(const SlurmView& seen) {
  return seen.end_state == "COMPLETED" || seen.end_state == "FAILED";
}

bool all_done(const Job& job) {
  const auto iterations = static_cast<double>(job.request().iterations);
  return iterations > 0 && job.curve() != nullptr && job.curve()->last_iteration() + 1 >= iterations;
}

}  // namespace

/// Of a heterogeneous job the sum as it is made up: "8 + 2 units".
std::string Requeues::wanted_text(const Job& job) {
  const RequeueRecord& kept = job.requeue.kept;
  if (kept.components.empty()) return units_text(kept.units, size_range(job.request(), job.asks));
  std::string text = kept.units > 0 ? std::to_string(kept.units) : "";
  for (const ComponentUnits& one : kept.components)
    text += (text.empty() ? "" : " + ") + std::to_string(one.units);
  return text == "1" ? "1 unit" : text + " units";
}

void Requeues::configure(const mlq_config_t& config) {
  config_ = config;
  PolicyOptions options;
  options.settle.horizon = horizons * config.horizon_s;
  options.settle.dwell = dwells * config.dwell_s;
  options.tail = config.tail;
  cpu_policy_ = make_policy("mlq", options);
  gpu_policy_ = make_policy("mlq", options);
}

bool Requeues::concerns(const Job& job) {
  const mlq_request_t& request = job.request();
  return request.resize == MLQ_RESIZE_REQUEUE && request.companion == 0 && !request.off;
}

void Requeues::act(const Job& job, mlq_requeue_kind_t kind, std::string reason) {
  mlq_requeue_t action{};
  action.kind = kind;
  action.job_id = job.seen().job_id;
  action.restarts = job.seen().restarts;
  action.submit_time = job.seen().submit;
  action.reason = reasons_.emplace_back(std::move(reason)).c_str();
  actions_.push_back(action);
}

/// Nothing has been done to it, or what was done counts for nothing.
void Requeues::withdraw(Job& job, double now, const std::string& why, double pause) const {
  RequeueState& state = job.requeue;
  const RequeueRecord before = state.kept;
  const double cost = state.cost_s;
  const RequeueRecord saved = state.saved;
  state = RequeueState();
  state.kept.back = before.back;
  state.kept.done = before.done > 0 ? before.done - 1 : 0;
  state.cost_s = cost;
  state.saved = saved;
  state.why_not_yet = why;
  state.not_before = now + pause;
}

/// Announced: until AdminComment is on slurmctld's disk the job is not told.
void Requeues::settle(Job& job, double now) {
  RequeueState& state = job.requeue;
  if (config_.mode != MLQ_MODE_ACTIVE) return withdraw(job, now, "mlq_mode is not active", 0);
  if (job.seen().state != MLQ_JOB_RUNNING) return withdraw(job, now, "it does not run any more", 0);
  if (state.written_at < 0) {
    if (now - state.kept.at > unwritten_s)
      withdraw(job, now, "AdminComment has no room to remember a requeue", 10 * refused_s);
    return;
  }
  if (now - state.written_at < settle_s) return;
  const AgentReport* agent = job.agent();
  state.by_agent = agent != nullptr && agent->saves && now - agent->received <= heartbeat_s;
  state.told_at = now;
  if (job.curve() != nullptr) state.kept.iteration = job.curve()->last_iteration();
  if (!state.by_agent) act(job, MLQ_REQUEUE_WARN, "to go on with " + wanted_text(job));
}

void Requeues::wait_saved(Job& job, double now) {
  RequeueState& state = job.requeue;
  const AgentReport* agent = job.agent();
  const std::string with = "to go on with " + wanted_text(job);
  if (job.seen().state == MLQ_JOB_ENDED) {
    // an agent that was told to save does not end before it is requeued: the training was over
    if (state.by_agent || all_done(job) || !ended_by_itself(job.seen()))
      withdraw(job, now, "it ended before it was requeued", 0);
    else
      act(job, MLQ_REQUEUE_NOW, "it has saved and ended, " + with);
    return;
  }
  if (job.seen().state == MLQ_JOB_PENDING) return;
  if (state.by_agent && config_.mode == MLQ_MODE_DRY_RUN)
    return withdraw(job, now, "mlq_mode is not active", 0);
  if (state.by_agent && agent != nullptr && agent->phase == "saved")
    return act(job, MLQ_REQUEUE_NOW, "it has saved, " + with);
  const double patience = config_.requeue_grace_s + (state.by_agent ? overtime_s : 0);
  if (now - state.told_at >= patience) act(job, MLQ_REQUEUE_NOW, "mlq_requeue_grace is over, " + with);
}

/// The first report of the new run says whether it went on from what it had saved.
void Requeues::check(Job& job, double now) {
  RequeueState& state = job.requeue;
  const double first = job.first_of_run();
  if (job.seen().state != MLQ_JOB_RUNNING || first < 0) return;
  if (first < state.kept.iteration) state.kept.back = first;
  if (state.told_at >= 0) state.cost_s = now - state.told_at;
  state.kept.at = 0;
  state.kept.components.clear();
  state.told_at = -1;
}

void Requeues::follow(Job& job, double now) {
  RequeueState& state = job.requeue;
  if (state.to_check(job.seen().restarts)) {
    if (state.told_at < 0 && !state.inherited) return withdraw(job, now, "somebody else requeued it", 0);
    return check(job, now);
  }
  if (!state.under_way(job.seen().restarts)) return;
  // one that runs is told once more; one that ended since may have done so because it was told
  if (state.inherited && state.told_at < 0 && job.seen().state == MLQ_JOB_ENDED &&
      static_cast<double>(job.seen().end) >= state.kept.at + settle_s) {
    state.told_at = state.kept.at + settle_s;
    state.by_agent = job.agent() != nullptr && job.agent()->saves;
  }
  if (state.told_at < 0)
    settle(job, now);
  else
    wait_saved(job, now);
}

void Requeues::done(Job& job, mlq_requeue_kind_t kind, const char* error, double now) const {
  RequeueState& state = job.requeue;
  if (error == nullptr) {
    if (kind == MLQ_REQUEUE_NOW) job.ends_now(now);
    return;
  }
  if (kind == MLQ_REQUEUE_NOW && ++state.failures < tries) return;
  withdraw(job, now, std::string("Slurm refused: ") + error, refused_s);
}

void Requeues::update(double now, const mlq_cluster_snapshot_t* cluster, std::span<Job* const> jobs,
                      const SwitchedOff& switched_off) {
  actions_.clear();
  reasons_.clear();
  claimed_ = claimed_gpus_ = under_way_ = 0;
  any_told_ = false;
  for (Job* job : jobs) {
    if (!concerns(*job)) continue;
    if (!followed(*job)) {
      say_component(*job);
      continue;
    }
    follow(*job, now);
    const RequeueState& state = job->requeue;
    const SlurmView& seen = job->seen();
    if (state.under_way(seen.restarts) || (state.to_check(seen.restarts) && seen.state == MLQ_JOB_PENDING)) {
      under_way_++;
      claim(*job);
    }
    any_told_ |= state.under_way(seen.restarts) && state.told_at >= 0;
    if (seen.state != MLQ_JOB_RUNNING) job->plan = Plan();
  }
  members_.clear();
  if (cluster == nullptr || config_.mode == MLQ_MODE_OFF) return;
  gather(now, *cluster, jobs, switched_off);
  for (const Kind kind : {Kind::cpus, Kind::gpus}) allocate(kind, *cluster, now);
  announce(now);
}

/// What is told of each job in its own words.
void Requeues::say(Member& member, double now) const {
  Job& job = *member.job;
  Plan& plan = job.plan;
  const RequeueState& state = job.requeue;
  const std::uint32_t gpus = member.range.counts_gpus() ? member.range.gpus : 1;
  const std::uint32_t own = (member.het ? units_held(job, member.range) : member.base) * gpus;
  plan.base = plan.held = own;
  plan.units = own;
  const std::string units = member.het ? units_now(member) + " units" : units_text(member.base, member.range);
  if (state.under_way(job.seen().restarts)) {
    plan.units = state.kept.units > 0 ? state.kept.units * gpus : own;
    plan.reason = wanted_text(job) + ", before " + (member.het ? units_now(member) : std::to_string(own)) +
                  ": that pays for a restart; ";
    if (state.told_at < 0)
      plan.reason += "it will be told to save in a moment";
    else
      plan.reason += "it was told to save " + whole(now - state.told_at) +
                     " s ago and is requeued when it has, after " + std::to_string(config_.requeue_grace_s) +
                     " s at most";
    plan.change = plan.reason;
  } else if (!member.brake.empty()) {
    plan.reason = units + ": " + member.brake;
  } else if (member.want != member.base) {
    plan.units = config_.mode == MLQ_MODE_ACTIVE || member.het ? own : member.want * gpus;
    plan.reason =
        units + ": " + std::to_string(member.want * gpus) + (member.het ? " CPUs" : "") +
        " would pay for a restart" +
        (config_.mode == MLQ_MODE_ACTIVE ? ", others are under way" : "; not done: mlq_mode=dry-run");
  } else {
    plan.reason = units + ": no other size would pay for a restart of " + whole(cost_of(job)) + " s within " +
                  whole(horizons * config_.horizon_s) + " s";
  }
}

}  // namespace mlq::engine
