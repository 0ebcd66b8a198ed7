// SPDX-License-Identifier: GPL-2.0-or-later
// Lets old entries go, in steps so small that no report waits long.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tools/mlqd/store.hpp"

namespace mlq::mlqd {

struct RetentionLimits {
  double keep_seconds = 90 * 86400.0;              ///< jobs nobody wrote for this long go
  std::int64_t max_bytes = std::int64_t{4} << 30;  ///< of the store file
  std::int64_t step_rows = 1000;                   ///< removed in one transaction
};

/// The time that ages are measured by. A wall clock that jumps ahead, or is wrong when the daemon starts and
/// is set right soon after, must not make all that is stored old: this one never runs faster than the
/// monotonic clock, and calls nothing old at first.
class AgeClock {
 public:
  static constexpr double kSettle = 600;  ///< seconds after the start

  AgeClock(double wall, double monotonic) : wall_(wall), monotonic_(monotonic) {}

  /// Seconds since the epoch, at most `wall`; 0 while the clock may not be right yet.
  double now(double wall, double monotonic) const {
    const double elapsed = monotonic - monotonic_;
    return elapsed < kSettle ? 0 : std::min(wall, wall_ + elapsed);
  }

 private:
  double wall_, monotonic_;
};

/// When the store is over its size, ended jobs go first, the longest untouched one first; when none is left,
/// the curve of the job with the most points loses every other point of its older part.
class Retention {
 public:
  Retention(Store& store, const RetentionLimits& limits) : store_(store), limits_(limits) {}

  /// One transaction's work; true while there is more. Never inside another transaction.
  bool step(double now);

  std::uint64_t removed_points() const noexcept { return removed_; }

 private:
  std::int64_t used_bytes();
  bool over_size();
  bool step_age(double now);
  bool step_size();
  bool step_file();
  void remove_from(std::int64_t entry);
  std::int64_t thin(std::int64_t entry);

  Store& store_;
  RetentionLimits limits_;
  bool shrinking_ = false;
  std::int64_t removing_ = 0;  ///< the entry under way
  std::int64_t thinned_entry_ = 0;
  std::int64_t thin_cursor_ = 0;
  std::uint64_t removed_ = 0;
};

}  // namespace mlq::mlqd
