// SPDX-License-Identifier: GPL-2.0-or-later
// The jobs of a simulation, drawn from curves and arrival laws or read from a workload.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/simulation/trace.hpp"
#include "core/throughput/rate_model.hpp"

namespace mlq::simulation {

struct SimJob {
  std::uint64_t key = 0;
  std::size_t trace = 0;  ///< index
  std::string family;
  double arrival = 0;  ///< seconds
  RateModel rate;      ///< true; iterations of the trace per second
  std::uint32_t max_cores = 1;
  std::uint32_t unit = 1;
  bool says_iterations = false;
  std::vector<double> reported;  ///< losses as reported: the trace's, with noise
};

enum class Gaps : std::uint8_t {
  poisson,  ///< whole seconds, Poisson-distributed, as SLAQ's authors drew them (papers: SLAQ, section 7.1)
  exponential,  ///< a Poisson process
};
enum class EqualWork : std::uint8_t {
  per_iteration,  ///< an iteration of any curve costs the same at the same size
  per_job,        ///< a whole run of any curve costs the same at the same size
};

struct DrawOptions {
  std::size_t jobs = 160;
  double arrival_mean = 15;  ///< seconds
  Gaps gaps = Gaps::poisson;
  EqualWork equal_work = EqualWork::per_iteration;
  std::vector<double> sizes{0.1, 0.5, 1};  ///< of the data set; drawn alike
  double load = 1.1;  ///< core-seconds that arrive over those that the cluster has meanwhile
  double cluster_cores = 640;
  std::uint32_t max_cores = 64;
  double serial = 0;           ///< share of an iteration that no core speeds up (alpha = serial * W), [0, 1)
  double noise = 0;            ///< standard deviation of reported losses, relative
  double says_iterations = 0;  ///< share of jobs that state their iterations
  std::uint64_t seed = 1;
};

/// Curves at random, arrivals by the law; work scaled so that the draw has exactly the load asked for.
std::vector<SimJob> draw_jobs(std::span<const Trace> traces, const DrawOptions& options);

/// What is known of an application of a workload.
struct Application {
  std::string name;
  std::vector<std::size_t> traces;     ///< curves it may have
  std::vector<ScalingSample> scaling;  ///< measured
  double replica_hours = 1;            ///< of a whole run at the size asked for
};

/// A fit of the measurements at one global batch; more than fits a replica is accumulated. Unknown without
/// samples.
RateModel scaling_of(std::span<const ScalingSample> samples, double global_batch);

/// Jobs of a workload: arrivals and sizes from it, scaling from the measurements, curves of the application.
/// `options.load` > 0 scales the work to that load, 0 leaves the hours as they are.
std::vector<SimJob> jobs_of_workload(std::span<const WorkloadEntry> entries,
                                     std::span<const Application> applications, std::span<const Trace> traces,
                                     const DrawOptions& options);

}  // namespace mlq::simulation
