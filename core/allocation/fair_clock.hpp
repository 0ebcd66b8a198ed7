// SPDX-License-Identifier: GPL-2.0-or-later
// What equal shares would have given each job so far: the clock against which waiting is judged (virtual
// time, as in fair queueing).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace mlq {

struct ClusterView;

/// Core-seconds of equal shares, job by job, from decision to decision. The shares pay for moves as well:
/// when the number of jobs changes every share does, and a job that runs loses its move cost. A job first
/// seen long after its arrival (the scheduler started anew) is taken to have had the present share since.
class FairClock {
 public:
  /// Lets time pass until view.now. O(jobs). Time that goes back starts the clock anew.
  void advance(const ClusterView& view);
  /// Of the jobs of the last view, in its order; >= 0, finite.
  std::span<const double> service() const { return service_; }
  /// Cores of an equal share now; what a job can't use is not dealt out again.
  double share() const { return share_; }
  /// Seconds that jobs stayed: mean of about the last 50 that left; before five have left, mean age of those
  /// there. > 0.
  double typical_stay() const { return stay_; }

 private:
  struct Entry {
    double service = 0, seen = 0, arrival = 0, paused_until = 0;
  };
  void drop_the_gone(double now);

  std::unordered_map<std::uint64_t, Entry> jobs_;
  std::vector<double> service_;
  double now_ = 0, share_ = 0, stay_ = 1, stay_of_the_gone_ = 0;
  double gone_ = 0;  ///< jobs that left, at most 50: the weight of the mean so far
  std::size_t count_ = 0;
};

}  // namespace mlq
