// SPDX-License-Identifier: GPL-2.0-or-later
// One job of a simulation while it is in the cluster.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/allocation/policy.hpp"
#include "core/quality/curve.hpp"
#include "core/simulation/simulator.hpp"
#include "core/throughput/iteration_time.hpp"

namespace mlq::simulation {

/// True progress on one side, what the scheduler may know of it on the other.
class RunningJob {
 public:
  RunningJob(const SimJob& job, const Trace& trace, std::size_t index, std::size_t pools, bool with_curve);

  const SimJob& job() const { return *job_; }
  std::size_t index() const { return index_; }
  bool ended() const { return progress_ >= static_cast<double>(trace_->iterations()); }
  double fraction() const { return trace_->fraction_at(progress_); }
  double cores() const { return cores_; }
  bool runs() const { return cores_ > 0; }

  /// When it ends if nothing changes; infinite while it holds nothing.
  double end_time(double now) const;
  /// Lets time pass until `to`; milestones reached go into `result`.
  void advance(double from, double to, JobResult& result);
  /// Gives it `row` (units by pool) at `now`. A change of a running job's size costs `move_cost`.
  void resize(std::span<const std::uint32_t> row, std::span<const Pool> pools, double now, double move_cost,
              JobResult& result);
  /// Loses the iteration it is in, and `pause` seconds.
  void fail(double now, double pause);

  /// Brings what the scheduler knows up to `now` and describes the job to a policy. The view is valid until
  /// the next call of a member that is not const.
  JobView view(double now, const SimConfig& config, double expected_iterations);

 private:
  struct Report {
    double time, loss, cores, core_seconds, seconds;
    std::size_t iteration;
  };
  void finish_iteration(std::size_t iteration, double at);
  void hear(double until, const OutlookOptions& options);
  void look_at_truth();

  const SimJob* job_;
  const Trace* trace_;
  std::size_t index_;
  // truth
  double progress_ = 0;
  double cores_ = 0, speed_cores_ = 0;  ///< held; in cores of speed 1
  std::vector<std::uint32_t> row_;
  double paused_until_ = 0, changed_at_ = 0, waiting_since_ = 0;
  double attained_ = 0;
  double iteration_seconds_ = 0,
         iteration_core_seconds_ = 0;  ///< spent on the iteration it is in, pauses left out
  std::size_t reported_ = 0;           ///< iterations
  std::size_t next_milestone_ = 0;
  // the scheduler's side
  std::deque<Report> underway_;
  IterationTime time_;
  TwoPointForecast recent_;
  std::unique_ptr<LossCurve> curve_;
  OutlookTracker tracker_;
  std::size_t heard_ = 0;  ///< iterations
  Outlook outlook_, truth_;
};

}  // namespace mlq::simulation
