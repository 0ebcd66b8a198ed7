// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/writer.hpp"

#include <chrono>

#include "tools/mlqd/clock.hpp"
#include "tools/mlqd/log.hpp"

namespace mlq::mlqd {
namespace {

constexpr std::size_t kMaxBatchTasks = 1024;
constexpr std::size_t kMaxBatchPoints = 50'000;  // bounds how long the first of a batch waits
constexpr double kRetentionPause = 10;           // seconds between looks when nothing was left to remove

std::size_t points_of(const WriteTask& task) {
  const auto* report = std::get_if<ReportWrite>(&task.what);
  return report ? report->report.points.size() : 1;
}

}  // namespace

Writer::Writer(Store& store, const RetentionLimits& limits, std::size_t max_queue)
    : store_(store),
      retention_(store, limits),
      age_clock_(wall_seconds(), monotonic_seconds()),
      max_queue_(max_queue),
      thread_([this] { run(); }) {}

Writer::~Writer() {
  stop();
}

bool Writer::submit(WriteTask task) {
  const std::lock_guard lock(mutex_);
  const bool urgent = std::holds_alternative<wire::Cycle>(task.what);
  std::deque<WriteTask>& queue = urgent ? urgent_ : queue_;
  if (stopping_ || queue.size() >= max_queue_) return false;
  queue.push_back(std::move(task));
  counters_.queued_tasks = queue_.size() + urgent_.size();
  wake_.notify_one();
  return true;
}

void Writer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Writer::run() {
  for (;;) {
    Batch batch = next_batch();
    if (!batch.empty()) write(batch);
    const std::lock_guard lock(mutex_);
    if (stopping_ && idle()) return;
  }
}

Writer::Batch Writer::next_batch() {
  std::unique_lock lock(mutex_);
  if (idle() && !stopping_ && !more_to_remove_)
    wake_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_ || !idle(); });
  if (!stopping_) {
    // one small step a turn: reports wait for it at most once
    lock.unlock();
    retain();
    lock.lock();
  }
  Batch batch;
  for (std::size_t points = 0; !idle() && batch.size() < kMaxBatchTasks && points < kMaxBatchPoints;) {
    std::deque<WriteTask>& queue = urgent_.empty() ? queue_ : urgent_;
    points += points_of(queue.front());
    batch.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  counters_.queued_tasks = queue_.size() + urgent_.size();
  return batch;
}

void Writer::write(Batch& batch) {
  std::vector<WriteResult> results(batch.size());
  if (!write_once(batch, results) && batch.size() > 1) {
    // what one task may have spoilt must not fail the others
    for (std::size_t i = 0; i < batch.size(); ++i)
      write_once(std::span(batch).subspan(i, 1), std::span(results).subspan(i, 1));
  }
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i].done(results[i]);
}

bool Writer::write_once(std::span<WriteTask> batch, std::span<WriteResult> results) {
  const double start = monotonic_seconds();
  try {
    store_.begin();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (auto* report = std::get_if<ReportWrite>(&batch[i].what)) {
        results[i].stored = store_.add_report(report->reporter, report->report, wall_seconds());
      } else if (auto* speeds = std::get_if<SpeedWrite>(&batch[i].what)) {
        store_.add_speeds(speeds->reporter, speeds->report, wall_seconds());
      } else if (auto* agent = std::get_if<AgentWrite>(&batch[i].what)) {
        store_.set_agent(agent->reporter, agent->state, wall_seconds());
      } else {
        store_.add_cycle(std::get<wire::Cycle>(batch[i].what), wall_seconds());
      }
    }
    store_.commit();
    for (const JobKey& job : store_.take_changed()) targets_.changed(job.cluster, job.job_id);
  } catch (const std::exception& error) {
    store_.rollback();
    for (WriteResult& result : results) result = {};
    ++counters_.failures;
    if (!counters_.failing.exchange(true)) log(Level::error, "store does not take data: %s", error.what());
    return false;
  }
  if (counters_.failing.exchange(false)) log(Level::info, "store takes data again");
  for (WriteResult& result : results) {
    result.ok = true;
    counters_.stored += result.stored.stored;
    counters_.repeated += result.stored.dropped;
  }
  ++counters_.commits;
  counters_.commit_us += static_cast<std::uint64_t>((monotonic_seconds() - start) * 1e6);
  return true;
}

void Writer::retain() {
  const double now = monotonic_seconds();
  if (!more_to_remove_ && now - retained_ < kRetentionPause) return;
  retained_ = now;
  try {
    more_to_remove_ = retention_.step(age_clock_.now(wall_seconds(), now));
    counters_.removed = retention_.removed_points();
  } catch (const std::exception& error) {
    more_to_remove_ = false;
    log(Level::error, "store: old entries could not be removed: %s", error.what());
  }
}

}  // namespace mlq::mlqd
