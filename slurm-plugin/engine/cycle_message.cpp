// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/cycle_message.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "slurm-plugin/engine/message_member.hpp"
#include "slurm-plugin/engine/resize_message.hpp"

namespace mlq::engine {
namespace {

using wire::Json;

const char* state_name(const Job& job) {
  switch (job.seen().state) {
    case MLQ_JOB_PENDING:
      return "PENDING";
    case MLQ_JOB_RUNNING:
      return "RUNNING";
    case MLQ_JOB_SUSPENDED:
      return "SUSPENDED";
    case MLQ_JOB_ENDED:
      break;
  }
  return job.seen().end_state.empty() ? "UNKNOWN" : job.seen().end_state.c_str();
}

const char* mode_name(mlq_mode_t mode) {
  return mode == MLQ_MODE_ACTIVE ? "active" : mode == MLQ_MODE_DRY_RUN ? "dry-run" : "off";
}

void put_curve(json_t* status, const Job& job) {
  const LossCurve* curve = job.curve();
  put(status, "verdict", to_string(curve ? curve->verdict() : Verdict::no_data));
  if (curve == nullptr || curve->size() == 0) return;
  put(status, "iteration", curve->last_iteration());
  put(status, "loss", curve->last_loss());
  put(status, "first_loss", curve->first_loss());
  put(status, "best_loss", curve->best_loss());
  put(status, "points", curve->size());
  put(status, "last_report", curve->last_time());
  put(status, "fraction", curve->fraction_reached());
  if (job.expected.source != Source::curve) return;
  const Forecast forecast = curve->forecast(job.expected.ahead);
  put(status, "model", forecast.model);
  put(status, "rate", job.speed().rate(job.cores_held()));
  json_t* told = json_object();
  put(told, "iterations", job.expected.ahead);
  put(told, "now", forecast.now);
  put(told, "predicted", forecast.predicted);
  put(told, "lower", forecast.lower);
  put(told, "upper", forecast.upper);
  json_object_set_new(status, "forecast", told);
}

json_t* status_message(const Job& job, double now, double horizon_s) {
  json_t* status = json_object();
  put_curve(status, job);
  put(status, "gain", job.expected.gain);
  put(status, "gain_per_core", job.standing.gain_per_core);
  put(status, "horizon", horizon_s);
  put(status, "core_seconds", job.core_seconds(now));
  put(status, "source", to_string(job.expected.source));
  if (job.standing.rank > 0) {
    put(status, "score", job.standing.score);
    put(status, "rank", job.standing.rank);
    put(status, "ranked", job.standing.ranked);
  }
  put(status, "site_factor", job.standing.site_factor);
  put(status, "reason", reason_of(job, horizon_s));
  return status;
}

std::string expectation(const Job& job, double horizon_s) {
  char text[256];
  const double gain = job.expected.gain, per_core = job.standing.gain_per_core;
  const double cores = job.cores_held();
  switch (job.expected.source) {
    case Source::curve:
      std::snprintf(text, sizeof text,
                    "its curve (%s) promises %.3g of its reachable reduction in the next %.0f s on %.0f "
                    "cores, %.3g per core",
                    std::string(to_string(job.curve()->verdict())).c_str(), gain, horizon_s, cores, per_core);
      break;
    case Source::family:
      std::snprintf(text, sizeof text,
                    "no prediction of its own yet; %u earlier runs of its family gained %.3g with the work "
                    "of %.0f s on %.0f "
                    "cores, %.3g per core",
                    job.expected.family_runs, gain, horizon_s, cores, per_core);
      break;
    case Source::optimistic:
      std::snprintf(text, sizeof text,
                    "no prediction yet and no earlier run of its family: the optimistic start of new jobs, "
                    "%.3g in %.0f s on "
                    "%.0f cores, %.3g per core",
                    gain, horizon_s, cores, per_core);
      break;
  }
  return text;
}

}  // namespace

std::string reason_of(const Job& job, double horizon_s) {
  if (job.ended()) return "ended: " + std::string(state_name(job));
  std::string text;
  if (job.standing.rank > 0) {
    text = "rank " + std::to_string(job.standing.rank) + " of " + std::to_string(job.standing.ranked) +
           (job.seen().state == MLQ_JOB_PENDING ? " pending" : " running") + " ML jobs: ";
  } else {
    text = "not ranked (" +
           (job.seen().not_ranked.empty() ? "suspended or ranks are stale" : job.seen().not_ranked) + "): ";
  }
  text += expectation(job, horizon_s);
  if (!job.size_reason.empty()) text += "; size " + job.size_reason;
  if (!job.request_error().empty()) text += "; its request was not understood: " + job.request_error();
  return text;
}

Json job_message(const Job& job, std::span<Companion* const> companions, const CycleHeader& header,
                 bool ended_unknown) {
  const double now = header.time;
  Json message(json_object());
  json_t* to = message.get();
  const SlurmView& seen = job.seen();
  const bool ended = ended_unknown || job.ended();
  put(to, "job_id", seen.job_id);
  put(to, "submit", seen.submit);
  put(to, "restarts", seen.restarts);
  put(to, "uid", seen.user_id);
  put(to, "user", seen.user);
  put(to, "account", seen.account);
  put(to, "partition", seen.partition);
  put(to, "name", seen.name);
  put(to, "family", job.family());
  put(to, "request", seen.request);
  put(to, "state", ended_unknown ? "UNKNOWN" : state_name(job));
  json_object_set_new(to, "ended", json_boolean(ended));
  if (seen.start > 0) put(to, "start", seen.start);
  if (job.ended() && seen.end > 0) put(to, "end", seen.end);
  put(to, "cores", seen.cores);
  if (seen.array_job_id > 0) put(to, "array_job_id", seen.array_job_id);
  if (seen.array_job_id > 0 && seen.array_task_id < MLQ_NO_TASK) put(to, "array_task_id", seen.array_task_id);
  json_t* status = status_message(job, now, header.config->horizon_s);
  put_size(status, job, companions, now, *header.config);
  json_object_set_new(to, "status", status);
  return message;
}

Json orphan_message(const OpenJob& job) {
  Json message(json_object());
  put(message.get(), "job_id", job.job_id);
  put(message.get(), "submit", job.submit);
  put(message.get(), "uid", job.uid);
  put(message.get(), "restarts", job.restarts);
  put(message.get(), "state", "UNKNOWN");
  json_object_set_new(message.get(), "ended", json_true());
  return message;
}

std::size_t print_of(const Job& job) {
  std::size_t print = 0;
  const auto mix = [&print](auto value) {
    print ^= std::hash<decltype(value)>()(value) + 0x9e3779b97f4a7c15 + (print << 6) + (print >> 2);
  };
  const SlurmView& seen = job.seen();
  mix(static_cast<int>(seen.state));
  mix(seen.start);
  mix(seen.end);
  mix(seen.restarts);
  mix(seen.cores);
  mix(seen.name);
  mix(seen.partition);
  mix(seen.array_task_id);
  mix(seen.end_state);
  mix(seen.not_ranked);
  mix(job.standing.rank);
  mix(job.standing.site_factor);
  mix(job.expected.gain);
  mix(job.drained_at);
  mix(job.size_reason);
  mix(job.plan.units);
  mix(job.plan.held);
  mix(job.plan.since);
  mix(job.plan.leave.size());
  mix(job.shrink.keep);
  mix(job.requeue.kept.at);
  mix(job.requeue.told_at);
  if (job.request().resize == MLQ_RESIZE_REQUEUE) mix(job.plan.reason);
  for (const UnitPiece& piece : job.plan.grants) mix(piece.units);
  mix(job.companions.live + job.companions.ended);
  return print;
}

std::string cycle_message(const CycleHeader& header, std::vector<Json> jobs,
                          const std::vector<FamilyRecord>& families) {
  const Json message(json_object());
  json_t* to = message.get();
  put(to, "v", 1);
  put(to, "cluster", header.cluster);
  put(to, "time", header.time);
  put(to, "mode", mode_name(header.config->mode));
  put(to, "weight", header.config->weight);
  put(to, "horizon", header.config->horizon_s);
  put(to, "interval", header.config->interval_s);
  json_t* stats = json_object();
  put(stats, "pull_ms", header.pull_ms);
  put(stats, "decide_ms", header.decide_ms);
  put(stats, "fit_ms", header.spent.fit);
  put(stats, "allocate_ms", header.spent.allocate);
  put(stats, "pack_ms", header.spent.pack);
  if (header.stats != nullptr) {
    put(stats, "read_hold_us", header.stats->read_hold_us);
    put(stats, "write_hold_max_us", header.stats->write_hold_max_us);
    put(stats, "write_hold_sum_us", header.stats->write_hold_sum_us);
    put(stats, "write_holds", header.stats->write_holds);
    put(stats, "applied", header.stats->applied);
    put(stats, "endings", header.stats->endings);
  }
  json_object_set_new(to, "stats", stats);
  json_t* list = json_array();
  for (Json& job : jobs) json_array_append_new(list, job.release());
  json_object_set_new(to, "jobs", list);
  json_t* told = json_array();
  for (const FamilyRecord& family : families) {
    json_t* item = json_object();
    put(item, "name", family.name);
    put(item, "runs", family.runs);
    json_t* means = json_array();
    for (const double value : family.mean.core_seconds) json_array_append_new(means, json_real(value));
    json_object_set_new(item, "core_seconds", means);
    json_array_append_new(told, item);
  }
  json_object_set_new(to, "families", told);
  const std::unique_ptr<char, decltype(&std::free)> text(
      json_dumps(to, JSON_COMPACT | JSON_REAL_PRECISION(15)), &std::free);
  if (!text) throw std::bad_alloc();
  return text.get();
}

}  // namespace mlq::engine
