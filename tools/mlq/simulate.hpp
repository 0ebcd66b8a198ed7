// SPDX-License-Identifier: GPL-2.0-or-later
// Parts of `mlq simulate`: what it reads, what it shows.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/simulation/metrics.hpp"
#include "core/simulation/simulator.hpp"
#include "core/simulation/workload.hpp"

namespace mlq::cli {

/// Everything that can go wrong with a file; what() names it.
struct SimulateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Curves of the folder, `only` naming those wanted (all when empty), in the order of their names. Files that
/// hold no usable curve are counted in `skipped`. A curve that index.tsv calls maximised is read so.
std::vector<simulation::Trace> load_traces(const std::string& folder, const std::vector<std::string>& only,
                                           std::size_t& skipped);

struct Workload {
  std::vector<simulation::WorkloadEntry> entries;
  std::vector<simulation::Application> applications;
};
/// A workload file; pollux-scalability-APPLICATION.csv is looked for beside it. Curves of an application are
/// those whose names fit its kind, else all.
Workload load_workload(const std::string& file, const std::vector<simulation::Trace>& traces);

/// Runs of one policy, one per seed.
struct PolicyRuns {
  std::string policy;
  std::vector<simulation::RunResult> runs;
  simulation::Summary summary;  ///< mean over seeds
};

void print_table(const std::vector<PolicyRuns>& results, std::FILE* out);
std::string to_json(const std::vector<PolicyRuns>& results);
/// Refuses what plot() could not write, before anything is simulated.
void check_plot_file(const std::string& file);
/// Draws with gnuplot into FILE (.png, .svg or .pdf by its ending).
void plot(const std::vector<PolicyRuns>& results, const std::string& file);

}  // namespace mlq::cli
