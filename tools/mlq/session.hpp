// SPDX-License-Identifier: GPL-2.0-or-later
// What the commands that ask mlqd have in common: options, the query, JSON output.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tools/mlq/collector.hpp"
#include "tools/mlq/job_view.hpp"

namespace mlq::cli {

struct PlaceOptions {
  std::string url, cluster;
};
void add_place_options(CLI::App& command, PlaceOptions& options);

struct FilterOptions {
  std::vector<std::string> jobs;
  std::vector<std::string> users, partitions, accounts;
  bool all = false;
  bool me = false;
};
void add_filter_options(CLI::App& command, FilterOptions& options);

struct Answer {
  Place place;
  std::string cluster;
  double now = 0;  ///< mlqd's clock
  CycleView cycle;
  std::vector<JobView> jobs;  ///< in the order in which they are shown
  std::vector<std::string> warnings;
};

/// The jobs that the options choose. Throws Error.
Answer ask_jobs(const Place& place, const FilterOptions& filter);

/// One job, given as JOBID, in `answer.jobs`, with its newest `points`. Throws Error when mlqd does not know
/// it.
struct OneJob {
  Answer answer;
  std::vector<CurvePoint> points;
};
OneJob ask_job(const Place& place, const std::string& job, std::uint32_t points);

/// What a person should know about how old or how incomplete the answer is.
std::vector<std::string> warnings_of(const Answer& answer);

/// Common head of every --json answer: schema_version, meta, errors, warnings.
wire::Json json_head(const std::string& command, const Answer& answer);
void print_json(const json_t* json);

/// Runs body. An Error goes to stderr and, with json, into an answer with `errors` on stdout; returns 0 or 1.
int run_command(const std::string& command, bool json, const std::function<void()>& body);

/// Colours and redrawing: only on a terminal, and not where NO_COLOR is set.
bool colours_wanted();

}  // namespace mlq::cli
