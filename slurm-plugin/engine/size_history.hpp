// SPDX-License-Identifier: GPL-2.0-or-later
// Which size a job had when.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mlq::engine {

/// Bounded: a job that changes its size more often forgets the oldest sizes first.
class SizeHistory {
 public:
  static constexpr std::size_t max_entries = 64;

  /// `cores` since `time`; times that go back take back what was noted after them.
  void note(double time, double cores) {
    while (!entries_.empty() && entries_.back().since > time) entries_.pop_back();
    if (!entries_.empty() && entries_.back().cores == cores) return;
    if (entries_.size() >= max_entries) entries_.erase(entries_.begin());
    entries_.push_back({time, cores});
  }

  /// 0 when nothing is known of that time.
  double at(double time) const {
    const auto after = std::upper_bound(entries_.begin(), entries_.end(), time,
                                        [](double t, const Entry& entry) { return t < entry.since; });
    return after == entries_.begin() ? 0 : (after - 1)->cores;
  }

  void clear() { entries_.clear(); }

 private:
  struct Entry {
    double since, cores;
  };
  std::vector<Entry> entries_;
};

}  // namespace mlq::engine
