// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/resize_message.hpp"

#include <algorithm>

#include "slurm-plugin/engine/message_member.hpp"

namespace mlq::engine {
namespace {

json_t* target_message(const Job& job, const mlq_config_t& config) {
  const Plan& plan = job.plan;
  json_t* target = json_object();
  put(target, "units", plan.units);
  put(target, "base", plan.base);
  put(target, "held", plan.held);
  if (job.unit_gpus() > 0) {
    put(target, "unit_gpus", job.unit_gpus());
    put(target, "unit_cores", job.unit_cores());
  }
  if (plan.units > plan.held && !plan.grants.empty()) {
    json_t* grants = json_array();
    for (const UnitPiece& piece : plan.grants) {
      json_t* grant = json_object();
      put(grant, "partition", job.seen().partition);
      put(grant, "units", piece.units);
      if (job.unit_gpus() > 0) put(grant, "gpu_type", job.seen().gpu_type);
      json_array_append_new(grants, grant);
    }
    json_object_set_new(target, "grants", grants);
  }
  if (!plan.leave.empty()) {
    json_t* leave = json_array();
    for (const std::uint32_t id : plan.leave) json_array_append_new(leave, json_integer(id));
    json_object_set_new(target, "leave", leave);
  }
  put(target, "lead", config.lead_s);
  put(target, "since", std::max(plan.since, static_cast<double>(job.seen().start)));
  put(target, "reason", plan.reason);
  if (job.shrink.keep > 0) put(target, "keep_nodes", job.shrink.keep);
  const RequeueState& state = job.requeue;
  if (state.by_agent && state.told_at >= 0 && state.under_way(job.seen().restarts)) {
    json_t* requeue = json_object();
    put(requeue, "at", state.kept.at);
    put(requeue, "grace", config.requeue_grace_s);
    json_object_set_new(target, "requeue", requeue);
  }
  return target;
}

json_t* usage_message(const Job& job, double now) {
  json_t* usage = json_object();
  put(usage, "base", job.base_core_seconds(now));
  put(usage, "companions", job.companions.core_seconds());
  put(usage, "earlier", job.earlier_core_seconds());
  put(usage, "companion_jobs", job.companions.live + job.companions.ended);
  return usage;
}

const char* state_of(const Companion& companion) {
  if (companion.state == MLQ_JOB_PENDING) return "PENDING";
  return companion.leaving_since >= 0 ? "LEAVING" : "RUNNING";
}

json_t* resize_message(const Job& job, std::span<Companion* const> companions) {
  json_t* resize = json_object();
  put(resize, "reason", job.plan.reason);
  put(resize, "change", job.plan.change);
  if (companions.empty()) return resize;
  constexpr std::size_t most = 100;
  json_t* list = json_array();
  for (std::size_t i = 0; i < std::min(companions.size(), most); i++) {
    json_t* one = json_object();
    put(one, "job_id", companions[i]->job_id);
    put(one, "units", job.units_of(*companions[i]));
    put(one, "state", state_of(*companions[i]));
    json_array_append_new(list, one);
  }
  json_object_set_new(resize, "companions", list);
  return resize;
}

}  // namespace

void put_size(json_t* status, const Job& job, std::span<Companion* const> companions, double now,
              const mlq_config_t& config) {
  if (job.ever_ran()) json_object_set_new(status, "usage", usage_message(job, now));
  if (config.mode == MLQ_MODE_ACTIVE && job.plan.units > 0)
    json_object_set_new(status, "target", target_message(job, config));
  if (!job.plan.reason.empty() || !companions.empty())
    json_object_set_new(status, "resize", resize_message(job, companions));
}

}  // namespace mlq::engine
