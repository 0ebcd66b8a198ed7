// SPDX-License-Identifier: GPL-2.0-or-later
// The one thread that writes. What arrives while a commit runs goes together into the next one (group
// commit), and nobody is answered before the commit that holds his data.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "tools/mlqd/retention.hpp"
#include "tools/mlqd/store.hpp"
#include "tools/mlqd/target_answers.hpp"

namespace mlq::mlqd {

struct ReportWrite {
  Reporter reporter;
  wire::Report report;
};

struct SpeedWrite {
  Reporter reporter;
  wire::SpeedReport report;
};

struct AgentWrite {
  Reporter reporter;
  wire::AgentState state;
};

struct WriteResult {
  bool ok = false;  ///< false: the store could not take it, nothing of it is there
  Stored stored;    ///< of a report
};

struct WriteTask {
  std::variant<ReportWrite, AgentWrite, SpeedWrite, wire::Cycle> what;
  std::function<void(const WriteResult&)>
      done;  ///< called once, from the writer's thread; must not block or throw
};

struct WriterCounters {
  std::atomic<std::uint64_t> stored{0}, repeated{0}, commits{0}, failures{0}, removed{0}, commit_us{0};
  std::atomic<std::uint64_t> queued_tasks{0};
  std::atomic<bool> failing{false};  ///< the newest commit failed
};

class Writer {
 public:
  Writer(Store& store, const RetentionLimits& limits, std::size_t max_queue);
  ~Writer();

  /// False when the queue is full or the writer stops: the task is not taken, `done` will not be called.
  bool submit(WriteTask task);

  /// Writes what was taken, then ends the thread. Idempotent.
  void stop();

  const WriterCounters& counters() const noexcept { return counters_; }

  /// Told of every job that a commit changed, before who wrote it has his answer.
  TargetAnswers& targets() noexcept { return targets_; }

 private:
  using Batch = std::vector<WriteTask>;

  void run();
  Batch next_batch();
  void write(Batch& batch);
  bool write_once(std::span<WriteTask> batch, std::span<WriteResult> results);
  bool idle() const { return queue_.empty() && urgent_.empty(); }
  void retain();

  Store& store_;
  Retention retention_;
  const AgeClock age_clock_;
  const std::size_t max_queue_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<WriteTask> queue_;
  std::deque<WriteTask> urgent_;  ///< cycles: a flood of reports does not delay the scheduler
  bool stopping_ = false;
  bool more_to_remove_ = true;
  double retained_ = 0;
  WriterCounters counters_;
  TargetAnswers targets_;
  std::thread thread_;
};

}  // namespace mlq::mlqd
