// SPDX-License-Identifier: GPL-2.0-or-later
// The writing side of the store: who a report belongs to, what is new in it, what may go.
// One thread. No clock: every `now` is seconds since the epoch. Throws SqliteError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/agent.hpp"
#include "core/wire/cycle.hpp"
#include "core/wire/report.hpp"
#include "tools/mlqd/speed_table.hpp"
#include "tools/mlqd/sqlite.hpp"

namespace mlq::mlqd {

/// Clocks of two hosts may differ by this much, in seconds.
inline constexpr std::int64_t kSkew = 300;

/// Who reports, as its token says.
struct Reporter {
  std::string cluster;
  std::uint32_t job_id = 0;
  std::uint32_t uid = 0;
  std::uint32_t restarts = 0;
  std::int64_t issued = 0;
};

struct Stored {
  std::uint64_t stored = 0;
  std::uint64_t dropped = 0;  ///< repeats
};

/// Holds `path`.lock as long as it lives, so that no second mlqd writes.
class StoreLock {
 public:
  explicit StoreLock(const std::string& path);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  int descriptor_;
};

/// A job as callers name it; which entry that is may change.
struct JobKey {
  std::string cluster;
  std::uint32_t job_id = 0;
};

/// Finds and keeps the entries of jobs.
class JobTable {
 public:
  explicit JobTable(Database& database);

  /// The entry that a report belongs to; opens a provisional one when there is none.
  std::int64_t for_report(const Reporter& reporter, double now);
  void count_points(std::int64_t entry, std::int64_t added, double now);
  void touch(std::int64_t entry, double now);  ///< retention goes by it

  /// Takes over what the scheduler says of a job: adopts a provisional entry, follows a requeue.
  void update(const std::string& cluster, const wire::CycleJob& job, double now);

  /// The jobs whose newest entry, or what the scheduler says of it, is another one since the last call.
  std::vector<JobKey> take_changed() { return std::exchange(changed_, {}); }

 private:
  std::int64_t find_for_cycle(const std::string& cluster, const wire::CycleJob& job);
  std::int64_t open_new(const std::string& cluster, const wire::CycleJob& job, double now);
  /// Points from time `since` on, and what is known of streams and of the agent.
  void move_curve(std::int64_t from, std::int64_t to, double since);

  Database& database_;
  std::vector<JobKey> changed_;
  Statement newest_, provisional_, same_submit_, earlier_, open_, count_, touch_, change_, detail_, status_;
  Statement end_, move_points_, move_streams_, move_batches_, move_agent_, drop_streams_, drop_job_, recount_;
};

class Store {
 public:
  /// Opens, creates or migrates. std::runtime_error when another mlqd has it or its version is unknown.
  explicit Store(const std::string& path);

  void begin();
  void commit();
  void rollback() noexcept;

  // Inside begin() and commit():
  Stored add_report(const Reporter& reporter, const wire::Report& report, double now);
  void add_cycle(const wire::Cycle& cycle, double now);
  /// The newest state of an agent takes the place of the one before.
  void add_speeds(const Reporter& reporter, const wire::SpeedReport& report, double now);
  void set_agent(const Reporter& reporter, const wire::AgentState& state, double now);

  /// After commit(): as JobTable::take_changed().
  std::vector<JobKey> take_changed() { return jobs_->take_changed(); }

  Database& database() noexcept { return database_; }
  void save_next_seq();  ///< before points go: numbers are never given twice

 private:
  std::int64_t last_n(std::int64_t entry, const std::string& stream);
  void limit_streams(std::int64_t entry);

  StoreLock lock_;
  Database database_;
  std::optional<JobTable> jobs_;
  std::optional<SpeedTable> speeds_;
  std::optional<Statement> stream_get_, stream_put_, stream_count_, stream_trim_, point_put_, family_put_,
      cycle_put_, seq_put_, agent_put_;
  std::int64_t next_seq_ = 1;
  std::int64_t committed_seq_ = 1;
};

}  // namespace mlq::mlqd
