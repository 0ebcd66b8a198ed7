// SPDX-License-Identifier: GPL-2.0-or-later
// Recorded loss curves, and how far along its own reduction a run is after so many iterations.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quality/curve.hpp"

namespace mlq::simulation {

/// One recorded run. Iteration k (from 1) reported losses[k - 1].
struct Trace {
  std::string name;
  Goal goal = Goal::min;
  std::vector<double> losses;  ///< as recorded; may hold NaN and infinities
  std::vector<double>
      fraction;  ///< of the whole reduction, best so far, after 0..N iterations; first 0, last 1

  std::size_t iterations() const { return losses.size(); }
  /// Between iterations linear; `progress` is clamped to [0, N].
  double fraction_at(double progress) const;
  /// Least progress with at least `fraction`.
  double progress_to(double fraction) const;
};

/// Empty, and why, when the text is no curve: header `step,loss`, then one number pair a line; fewer than 5
/// points or no reduction at all make no trace. Steps are not used: a line is an iteration.
std::optional<Trace> parse_trace(std::string name, std::string_view csv, Goal goal, std::string& why_not);

/// One line of a workload file.
struct WorkloadEntry {
  std::string name;
  double time = 0;  ///< submission, seconds
  std::string application;
  double replicas = 1;  ///< asked for by the user
  double batch = 0;     ///< global batch
};

/// Columns name,time,application,num_replicas,batch_size, found by the header. False and why on a bad line.
bool parse_workload(std::string_view csv, std::vector<WorkloadEntry>& out, std::string& why_not);

/// One measured iteration: columns num_nodes,num_replicas,local_bsz,step_time,…
struct ScalingSample {
  double replicas = 0;
  double local_batch = 0;
  double seconds = 0;
};
bool parse_scaling(std::string_view csv, std::vector<ScalingSample>& out, std::string& why_not);

}  // namespace mlq::simulation
