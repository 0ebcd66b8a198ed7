// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/simulation/running_job.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlq::simulation {

RunningJob::RunningJob(const SimJob& job, const Trace& trace, std::size_t index, std::size_t pools,
                       bool with_curve)
    : job_(&job), trace_(&trace), index_(index), row_(pools, 0), waiting_since_(job.arrival) {
  if (with_curve) {
    CurveOptions options;
    options.goal = trace.goal;
    curve_ = std::make_unique<LossCurve>(options);
  }
}

double RunningJob::end_time(double now) const {
  const double rate = job_->rate.rate(speed_cores_);
  if (!(rate > 0)) return std::numeric_limits<double>::infinity();
  return std::max(now, paused_until_) + (static_cast<double>(trace_->iterations()) - progress_) / rate;
}

void RunningJob::finish_iteration(std::size_t iteration, double at) {
  if (iteration > reported_) {
    const double cores = iteration_seconds_ > 0 ? iteration_core_seconds_ / iteration_seconds_ : speed_cores_;
    underway_.push_back(
        {at, job_->reported[iteration - 1], cores, iteration_core_seconds_, iteration_seconds_, iteration});
    reported_ = iteration;
  }
  iteration_seconds_ = iteration_core_seconds_ = 0;
}

void RunningJob::advance(double from, double to, JobResult& result) {
  attained_ += cores_ * (to - from);
  result.core_seconds += cores_ * (to - from);
  const double start = std::max(from, paused_until_);
  const double rate = job_->rate.rate(speed_cores_);
  if (!(rate > 0) || !(to > start)) return;
  const double last = static_cast<double>(trace_->iterations());
  double after = std::min(progress_ + (to - start) * rate, last);
  if (last - after < 1e-9 * last) after = last;  // the event is the end: don't miss it by a rounding
  const auto when = [&](double progress) { return start + (progress - progress_) / rate; };
  while (next_milestone_ < milestones.size()) {
    const double mark = trace_->progress_to(milestones[next_milestone_]);
    if (mark > after) break;
    result.time_to[next_milestone_++] = when(std::max(mark, progress_)) - job_->arrival;
  }
  double at = start;
  for (auto k = static_cast<std::size_t>(std::floor(progress_)) + 1; static_cast<double>(k) <= after; ++k) {
    const double done = when(static_cast<double>(k));
    iteration_seconds_ += done - at;
    iteration_core_seconds_ += (done - at) * speed_cores_;
    at = done;
    finish_iteration(k, done);
  }
  iteration_seconds_ += to - at;
  iteration_core_seconds_ += (to - at) * speed_cores_;
  progress_ = after;
}

void RunningJob::resize(std::span<const std::uint32_t> row, std::span<const Pool> pools, double now,
                        double move_cost, JobResult& result) {
  if (std::equal(row.begin(), row.end(), row_.begin())) return;
  const bool ran = runs();
  row_.assign(row.begin(), row.end());
  cores_ = speed_cores_ = 0;
  for (std::size_t p = 0; p < row_.size(); ++p) {
    cores_ += static_cast<double>(row_[p]) * job_->unit;
    speed_cores_ += static_cast<double>(row_[p]) * job_->unit * pools[p].speed;
  }
  changed_at_ = now;
  if (ran) {
    ++result.moves;
    paused_until_ = now + move_cost;
  }
  if (!runs()) waiting_since_ = now;
}

void RunningJob::fail(double now, double pause) {
  progress_ = std::floor(progress_);
  iteration_seconds_ = iteration_core_seconds_ = 0;
  paused_until_ = std::max(paused_until_, now + pause);
}

void RunningJob::hear(double until, const OutlookOptions& options) {
  bool news = false;
  while (!underway_.empty() && underway_.front().time <= until) {
    const Report& report = underway_.front();
    const double sign = trace_->goal == Goal::max ? -1 : 1;
    time_.observe(report.cores, 1, report.seconds);
    recent_.add(sign * report.loss, report.core_seconds);
    if (curve_) curve_->add({static_cast<double>(report.iteration), report.loss, report.time, report.cores});
    heard_ = report.iteration;
    news = true;
    underway_.pop_front();
  }
  if (!news) return;
  if (curve_) {
    curve_->refit();
    outlook_ = tracker_.update(*curve_, static_cast<double>(heard_), options);
  }
}

void RunningJob::look_at_truth() {
  const double last = static_cast<double>(trace_->iterations());
  truth_.known = truth_.end_known = true;
  truth_.fraction = fraction();
  truth_.to_end = std::max(last - progress_, 1e-9);
  truth_.to_target = std::max(trace_->progress_to(0.95) - progress_, 0.0);
}

JobView RunningJob::view(double now, const SimConfig& config, double expected_iterations) {
  OutlookOptions options;
  options.iterations = job_->says_iterations ? static_cast<double>(trace_->iterations()) : 0;
  options.expected_iterations = expected_iterations;
  hear(now - config.report_delay, options);
  look_at_truth();
  if (heard_ == 0) outlook_ = fresh_outlook(options);
  JobView view;
  view.request.key = job_->key;
  view.request.pools = config.pools.size() >= max_pools ? ~0ULL : (1ULL << config.pools.size()) - 1;
  view.request.unit = job_->unit;
  view.request.max = std::max(1U, job_->max_cores / std::max(1U, job_->unit));
  if (runs()) view.held = {row_, now - changed_at_, config.move_cost};
  view.held.move_cost = runs() ? config.move_cost : 0;
  view.arrival = job_->arrival;
  view.attained = attained_;
  view.waiting = runs() ? 0 : now - waiting_since_;
  view.rate = time_.model();
  view.outlook = &outlook_;
  view.recent = &recent_;
  view.truth = &truth_;
  view.true_rate = job_->rate;
  return view;
}

}  // namespace mlq::simulation
