// SPDX-License-Identifier: GPL-2.0-or-later
// How fast a user's trainings of a family ran on each node, learnt over jobs, and what the ranks of a job do
// now.
#pragma once

#include <cstdint>
#include <string>

#include "core/wire/speeds.hpp"
#include "core/wire/wire.hpp"
#include "tools/mlqd/sqlite.hpp"

namespace mlq::mlqd {

/// Whose speeds: nobody's jobs are sized by what somebody else reported.
struct SpeedKey {
  std::string cluster;
  std::uint32_t uid = 0;
  std::string family, unit;
};

/// The speed kept after one more report, both in samples/s; `age` is of the kept one, in seconds, and 0 <
/// kept. One report moves it by at most 6 % (a node that is disturbed once is not a slow node), and what
/// is old gives way faster.
double learn_speed(double kept, double reported, double age);

/// The writing side; inside a transaction.
class SpeedTable {
 public:
  static constexpr std::int64_t kMaxRows = 20000;  ///< of one user; the oldest go first

  explicit SpeedTable(Database& database);
  void add(const SpeedKey& key, std::int64_t job, const wire::SpeedReport& report, double now);

 private:
  void learn(const SpeedKey& key, const std::string& node, double speed, double now);

  Statement get_, put_, count_, trim_, batch_put_, batch_count_;
};

/// {"n1": samples/s, ...} of what was learnt in the last 60 days.
wire::Json learnt_speeds(Database& database, const SpeedKey& key, double now);

/// [{"node", "received", "ranks": [[rank, size, speed|null], ...]}, ...] of a job.
json_t* batches_of(Database& database, std::int64_t job);

}  // namespace mlq::mlqd
