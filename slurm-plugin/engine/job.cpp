// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/job.hpp"

#include <algorithm>
#include <cmath>

namespace mlq::engine {
namespace {

constexpr std::size_t curve_points = 1024;
constexpr std::size_t progress_points = 512;
constexpr double timing_window_s = 0.25;  ///< shorter spans are mostly jitter of the reporter's clock

void assign(std::string& to, const char* from) {
  const char* text = from == nullptr ? "" : from;
  if (to != text) to = text;
}

}  // namespace

const char* to_string(Source source) noexcept {
  switch (source) {
    case Source::curve:
      return "curve";
    case Source::family:
      return "family";
    case Source::optimistic:
      return "optimistic";
  }
  return "unknown";
}

Job::Job(const mlq_job_snapshot_t& first, const std::string& user, double now) {
  seen_.job_id = first.job_id;
  seen_.submit = first.submit_time;
  seen_.user_id = first.user_id;
  seen_.restarts = first.restarts;
  restore_from(first.admin_comment);
  see(first, user, now);
  parse_request();
  prospect_ = fresh_outlook(prospect_options());
}

void Job::restore_from(const char* admin_comment) {
  if (admin_comment == nullptr) return;
  const std::optional<CommentFields> last = read_comment(admin_comment);
  if (!last) return;
  ranks_ = last->ranks;
  summarised_ = last->final && last->restarts == seen_.restarts;
  const bool same_run = last->restarts == seen_.restarts;
  companions.ended_core_s = std::max(0.0, last->companion_s.value_or(0));
  companions.newest_end = companions.counted_until = last->companion_end.value_or(0);
  const double earlier =
      same_run ? last->core_s_before.value_or(0) : last->core_s.value_or(0) - companions.ended_core_s;
  core_seconds_before_ = std::max(0.0, earlier);
  if (last->gain_pred && last->gain_real) meter_.restore(*last->gain_pred, *last->gain_real);
  if (same_run) shrunk_core_s_ = std::max(0.0, last->shrunk_s.value_or(0));
  asked = asked_saved = last->asked;
  requeue.kept = requeue.saved = last->requeue;
  requeue.inherited = true;
  restored_ = last;
}

void Job::parse_request() {
  char error[MLQ_REQUEST_ERROR_MAX] = "";
  if (mlq_request_parse(seen_.request.c_str(), &request_, error, sizeof error) != 0) request_error_ = error;
  if (request_.family[0] != '\0') {
    family_ = request_.family;
    return;
  }
  family_ = std::to_string(seen_.user_id) + "/" + seen_.name.substr(0, 128);
  for (char& c : family_) {
    if (c <= ' ' || c >= 0x7f) c = '_';  // it travels as JSON and stands in logs
  }
}

void Job::see(const mlq_job_snapshot_t& s, const std::string& user, double now) {
  if (s.restarts > seen_.restarts && running_seen_ > 0) {
    // the run that was requeued
    core_seconds_before_ += base_core_seconds(running_seen_);
    running_seen_ = 0;
  }
  if (s.state == MLQ_JOB_RUNNING || s.state == MLQ_JOB_SUSPENDED) running_seen_ = now;
  const bool goes_on = s.start_time == seen_.start && s.restarts == seen_.restarts && s.start_time > 0;
  if (!goes_on && seen_.start > 0) shrunk_core_s_ = 0;
  const auto cores = std::max<double>(1, s.cores);
  if (goes_on && seen_.state == MLQ_JOB_RUNNING && s.state == MLQ_JOB_RUNNING && cores < seen_.cores) {
    const double when =
        shrink.done_at > static_cast<double>(s.start_time) ? std::min(shrink.done_at, now) : now;
    const auto suspended = static_cast<double>(std::max<std::int64_t>(0, s.suspended_s));
    shrunk_core_s_ +=
        (seen_.cores - cores) * std::max(0.0, when - static_cast<double>(s.start_time) - suspended);
  }
  if (s.start_time != seen_.start) {
    sizes_.clear();
    first_of_run_ = -1;
  }
  if (s.start_time != seen_.start || s.state == MLQ_JOB_SUSPENDED || s.state == MLQ_JOB_PENDING) {
    anchor_.reset();
    meter_.drop();
  }
  asks = s.size;
  requeueable = s.requeue;
  node = s.node;
  seen_.restarts = s.restarts;
  seen_.submit = s.submit_time;  // a requeue sets a new one
  seen_.start = s.start_time;
  seen_.end = s.end_time;
  seen_.suspended = std::max<std::int64_t>(0, s.suspended_s);
  seen_.state = s.state;
  seen_.cores = std::max<double>(1, s.cores);
  seen_.nodes = std::max<std::uint32_t>(1, s.nodes);
  seen_.array_job_id = s.array_job_id;
  seen_.array_task_id = s.array_task_id;
  seen_.het_job_id = s.het_job_id;
  seen_.het_offset = s.het_offset;
  other_components_ = std::max(0.0, static_cast<double>(s.het_cores) - seen_.cores);
  assign(seen_.user, user.c_str());
  assign(seen_.account, s.account);
  assign(seen_.partition, s.partition);
  assign(seen_.name, s.name);
  assign(seen_.end_state, s.end_state);
  assign(seen_.request, s.request);
  assign(seen_.features, s.features);
  seen_.gpus = s.gpus;
  seen_.mixed_gpus = s.mixed_gpus;
  assign(seen_.gpu_type, s.gpu_type);
  assign(seen_.not_ranked, s.rankable ? "" : s.not_ranked);
}

void Job::open_curve() {
  CurveOptions options;
  options.goal = request_.goal == MLQ_GOAL_MAX ? Goal::max : Goal::min;
  options.has_target_loss = request_.target_kind == MLQ_TARGET_LOSS;
  options.target_loss = request_.target;
  options.capacity = curve_points;
  curve_.emplace(options);
}

void Job::take(const std::vector<LossPoint>& points) {
  if (points.empty()) return;
  if (!curve_) open_curve();
  for (LossPoint point : points) {
    // what its agent says it had then; a trainer knows the cores that its own node gave it at the start
    if (const double held = sizes_.at(point.time); held > 0) point.cores = held;
    if (point.cores <= 0) point.cores = seen_.cores;
    point.cores += other_components();
    if (first_of_run_ < 0 && seen_.state == MLQ_JOB_RUNNING && point.time >= static_cast<double>(seen_.start))
      first_of_run_ = point.iteration;
    if (!curve_->add(point)) continue;
    unfitted_ = true;
    observe_speed(point);
    note_progress(point);
  }
}

/// Times spans of at least timing_window_s that lie within one run on one size.
void Job::observe_speed(const LossPoint& point) {
  const auto start = static_cast<double>(seen_.start);
  if (others_sized && (point.time < start || seen_.state == MLQ_JOB_PENDING)) return;
  if (!anchor_ || point.iteration <= anchor_->iteration || point.time < anchor_->time ||
      point.cores != anchor_->cores || (anchor_->time < start && point.time >= start)) {
    anchor_ = point;
    return;
  }
  const double seconds = point.time - anchor_->time;
  if (seconds < timing_window_s) return;
  speed_.observe(point.cores, point.iteration - anchor_->iteration, seconds);
  anchor_ = point;
}

void Job::note_progress(const LossPoint& point) {
  if (!std::isfinite(point.loss)) return;
  const double used = core_seconds(point.time);
  if (!progress_.empty() && used < progress_.back().core_seconds) return;
  if (progress_.size() >= progress_points) {  // keep every other one
    std::size_t kept = 0;
    for (std::size_t i = 0; i < progress_.size(); i += 2) progress_[kept++] = progress_[i];
    progress_.resize(kept);
  }
  progress_.push_back({used, point.loss});
}

void Job::refit() {
  if (!unfitted_) return;
  curve_->refit();
  unfitted_ = false;
  if (request_.resize != MLQ_RESIZE_NONE)
    prospect_ = tracker_.update(*curve_, curve_->last_iteration(), prospect_options());
}

OutlookOptions Job::prospect_options() const {
  OutlookOptions options;
  options.iterations = static_cast<double>(request_.iterations);
  if (request_.target_kind == MLQ_TARGET_FRACTION && request_.target > 0)
    options.target_fraction = request_.target;
  if (request_.target_kind == MLQ_TARGET_LOSS) {  // fractions count towards it: all of the way
    options.own_target = true;
    options.target_fraction = 1;
  }
  return options;
}

std::uint32_t Job::unit_cores() const {
  const auto cores = static_cast<std::uint32_t>(seen_.cores);
  switch (request_.unit) {
    case MLQ_UNIT_CORE:
    case MLQ_UNIT_CORES:
      return request_.cores_per_unit;
    case MLQ_UNIT_NODE:
      return std::max(1U, cores / seen_.nodes);
    case MLQ_UNIT_GPU:
      return seen_.gpus > 0 ? std::max(1U, cores / seen_.gpus) : 0;
  }
  return 0;
}

std::uint32_t Job::unit_gpus() const {
  switch (request_.unit) {
    case MLQ_UNIT_GPU:
      return 1;
    case MLQ_UNIT_NODE:
      return seen_.gpus / seen_.nodes;
    case MLQ_UNIT_CORE:
    case MLQ_UNIT_CORES:
      break;
  }
  return 0;
}

std::uint32_t Job::base_units() const {
  if (counts_gpus()) return seen_.gpus;
  return static_cast<std::uint32_t>(seen_.cores) / std::max(1U, unit_cores());
}

std::uint32_t Job::units_of(const Companion& companion) const {
  if (counts_gpus()) return std::max(1U, companion.gpus);
  const auto cpus = static_cast<std::uint32_t>(companion.cpus);
  const std::uint32_t unit = std::max(1U, unit_cores());
  return std::max(1U, (cpus + unit / 2) / unit);
}

void Job::hear(const AgentReport& report) {
  if (agent_ && report.received < agent_->received) return;
  agent_ = report;
  // a clock that runs ahead must not date a size behind the points that were had with it
  const double since = std::min(report.time, report.received);
  double cores = static_cast<double>(report.units) * unit_cores();
  if (counts_gpus() && report.units >= seen_.gpus)  // CPUs of its base are no multiple of its GPUs
    cores = seen_.cores + static_cast<double>(report.units - seen_.gpus) * unit_cores();
  sizes_.note(since, cores);
}

const AgentReport* Job::agent() const {
  return agent_ && agent_->received >= static_cast<double>(seen_.start) ? &*agent_ : nullptr;
}

/// target=N% asks for no more than that share: what lies beyond it is worth nothing.
double Job::gain_of_curve(double ahead) const {
  const double gain = curve_->gain(ahead);
  if (request_.target_kind != MLQ_TARGET_FRACTION || request_.target <= 0) return gain;
  const double missing = std::max(0.0, request_.target - curve_->fraction_reached());
  return std::clamp(std::min(gain, missing) / request_.target, 0.0, 1.0);
}

Outlook Job::outlook(double horizon_s, const FamilyPrior* family) const {
  Outlook outlook;
  if (curve_ && speed_.known() && curve_->verdict() != Verdict::no_data) {
    outlook.source = Source::curve;
    outlook.ahead = speed_.rate(cores_held()) * horizon_s;
    if (request_.iterations > 0) {
      const double left = static_cast<double>(request_.iterations) - curve_->last_iteration();
      outlook.ahead = std::clamp(outlook.ahead, 0.0, std::max(0.0, left));
    }
    outlook.gain = gain_of_curve(outlook.ahead);
  } else if (family != nullptr) {
    outlook.source = Source::family;
    outlook.family_runs = family->runs();
    outlook.gain = family->gain(cores_held() * horizon_s);
  } else {
    outlook.gain = optimistic_gain(horizon_s);
  }
  return outlook;
}

void Job::measure(const Outlook& outlook, double horizon_s, double now) {
  if (!curve_) return;
  if (seen_.state == MLQ_JOB_RUNNING && outlook.source == Source::curve) {
    meter_.follow(*curve_, outlook.ahead, horizon_s, now);
  } else if (ended()) {
    meter_.close(*curve_, seen_.end > 0 ? static_cast<double>(seen_.end) : now);
  }
}

void Job::ends_now(double now) {
  if (seen_.start > 0) running_seen_ = now;
}

double Job::core_seconds(double now) const {
  return core_seconds_before_ + base_core_seconds(now) + companions.core_seconds();
}

double Job::base_core_seconds(double now) const {
  if (seen_.start <= 0 || seen_.state == MLQ_JOB_PENDING) return 0;
  const double until = ended() && seen_.end > 0 ? std::min(now, static_cast<double>(seen_.end)) : now;
  const double held = until - static_cast<double>(seen_.start + seen_.suspended);
  return seen_.cores * std::max(0.0, held) + shrunk_core_s_;
}

void Job::note_rank(std::uint32_t rank) {
  if (rank == 0 || (!ranks_.empty() && ranks_.back() == rank)) return;
  if (ranks_.size() >= CommentFields::max_ranks) ranks_.erase(ranks_.begin());
  ranks_.push_back(rank);
}

CommentFields Job::comment(double now) const {
  CommentFields fields = restored_.value_or(CommentFields());  // while mlqd has not told the curve again
  if (fields.verdict.empty()) fields.verdict = to_string(Verdict::no_data);
  if (curve_ && curve_->size() > 0) {
    fields.loss = curve_->last_loss();
    fields.first = curve_->first_loss();
    fields.best = curve_->best_loss();
    fields.iter = curve_->last_iteration();
    fields.fraction = curve_->fraction_reached();
    fields.verdict = to_string(curve_->verdict());
  }
  fields.gain_pred = meter_.predicted();
  fields.gain_real = meter_.realised();
  if (ever_ran()) fields.core_s = std::round(core_seconds(now) * 10) / 10;
  fields.core_s_before = core_seconds_before_;
  if (shrunk_core_s_ > 0) fields.shrunk_s = std::round(shrunk_core_s_ * 10) / 10;
  if (companions.newest_end > 0) {
    fields.companion_s = std::round(companions.ended_core_s * 10) / 10;
    fields.companion_end = companions.newest_end;
  }
  fields.asked = asked;
  fields.requeue = requeue.kept;
  fields.ranks = ranks_;
  fields.restarts = seen_.restarts;
  fields.site = seen_.state == MLQ_JOB_PENDING ? standing.site_factor : 0;
  fields.final = ended();
  return fields;
}

std::optional<RunSummary> Job::summary() {
  if (summarised_ || !ended() || seen_.end_state != "COMPLETED" || !curve_) return std::nullopt;
  summarised_ = true;
  const double first = curve_->first_loss();
  const double whole = first - curve_->best_loss();
  if (!std::isfinite(whole) || whole == 0) return std::nullopt;
  const double reached = curve_->fraction_reached();
  std::vector<ProgressSample> samples;
  samples.reserve(progress_.size());
  double best = 0;
  for (const Progress& p : progress_) {
    best = std::max(best, std::clamp((first - p.loss) / whole, 0.0, 1.0));
    samples.push_back({p.core_seconds, best * reached});
  }
  return summarise_run(samples);
}

}  // namespace mlq::engine
