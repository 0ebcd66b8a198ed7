// SPDX-License-Identifier: GPL-2.0-or-later
// The reading side of the store: answers as doc/protocol.md says. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/wire/wire.hpp"
#include "tools/mlqd/speed_table.hpp"
#include "tools/mlqd/sqlite.hpp"

namespace mlq::mlqd {

struct JobsQuery {
  std::string cluster;
  std::optional<std::uint32_t> job_id;  ///< of an array all its tasks
  std::optional<std::string> user;
  bool all = false;          ///< ended ones too
  std::int64_t max = 10000;  ///< newest first
};

struct StoreFacts {
  std::int64_t live_jobs = 0;
  std::int64_t bytes = 0;                                  ///< used in the file
  std::vector<std::pair<std::string, wire::Json>> cycles;  ///< cluster, what the scheduler said last
};

class Reader {
 public:
  /// The store must exist. connections: how many threads may read at a time before one waits.
  Reader(const std::string& path, std::size_t connections);
  ~Reader();

  /// Points after `after`, at most `max`, of jobs that live or ended in the last 10 minutes, and the agents
  /// of such jobs that changed since.
  wire::Json points(const std::string& cluster, std::int64_t after, std::int64_t max, double now);
  wire::Json families(const std::string& cluster);
  wire::Json speeds(const SpeedKey& key, double now);
  wire::Json jobs(const JobsQuery& query, double now);
  /// nullptr when no job of that id is known.
  wire::Json job(const std::string& cluster, std::uint32_t job_id, std::int64_t points, double now);
  /// Of that only what an agent follows; poll: seconds from one question to the next that it is told.
  wire::Json target(const std::string& cluster, std::uint32_t job_id, double poll);
  /// The cluster when the store knows exactly one.
  std::optional<std::string> only_cluster();
  const std::string& epoch() const noexcept { return epoch_; }
  StoreFacts facts();

 private:
  struct Connection;
  class Lease;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> free_;
  std::string path_;
  std::string epoch_;
};

}  // namespace mlq::mlqd
