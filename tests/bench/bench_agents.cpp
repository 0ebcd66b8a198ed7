// SPDX-License-Identifier: GPL-2.0-or-later
// mlqd with all agents of a large cluster at once: each polls its job's target every second and tells its
// state, each rank 0 reports, the plugin pulls and pushes. mlqd has core 0, everything else the other cores.
// Prints JSON, and a line for each number of agents on standard error. Where requests begin late (a machine
// that does other work), the load was not what it should be and the figures say little.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>

#include "core/wire/wire.hpp"
#include "tests/bench/agent_crowd.hpp"
#include "tests/bench/plugin_cycles.hpp"

namespace {

using mlq::wire::Json;

constexpr double kInterval = 3;  // seconds from one cycle of the plugin to the next
constexpr double kDeadline = 1;  // seconds that the plugin gives mlqd in a cycle
constexpr double kWarmUp = 5;    // seconds; every connection is there then

struct Options {
  std::vector<unsigned> agents = {250, 1000, 4000};
  double seconds = 30;
  unsigned points = 2;
  std::string query = "points=0&only=target";
};

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

double part(const std::vector<double>& sorted, double fraction) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

struct Spread {
  explicit Spread(std::vector<double> values) : count(values.size()) {
    std::sort(values.begin(), values.end());
    median_ms = 1e3 * part(values, 0.5);
    p99_ms = 1e3 * part(values, 0.99);
    max_ms = 1e3 * part(values, 1);
  }
  json_t* json() const {
    return json_pack("{s:I, s:f, s:f, s:f}", "count", static_cast<json_int_t>(count), "median", median_ms,
                     "p99", p99_ms, "max", max_ms);
  }
  std::size_t count;
  double median_ms = 0, p99_ms = 0, max_ms = 0;
};

/// How long each agent waited for each target, and each target for its last agent.
struct Sight {
  std::vector<double> each, last;
  unsigned missed = 0;  ///< targets that some agent never had
};

Sight sight_of(const bench::PluginFigures& plugin, const bench::CrowdFigures& crowd, unsigned agents,
               double end) {
  Sight sight;
  for (const auto& [round, pushed] : plugin.pushed) {
    if (pushed > end - 2 * kInterval) continue;  // not everybody has polled since
    const auto found = crowd.seen.find(round);
    if (found == crowd.seen.end() || found->second.size() < agents) {
      ++sight.missed;
      continue;
    }
    double last = 0;
    for (const double when : found->second) {
      sight.each.push_back(when - pushed);
      last = std::max(last, when - pushed);
    }
    sight.last.push_back(last);
  }
  return sight;
}

struct Run {
  bench::CrowdFigures crowd;
  bench::PluginFigures plugin;
  double seconds = 0, end = 0, mlqd_cpu = 0, own_cpu = 0, memory_mib = 0;
};

Run measure(unsigned agents, const Options& options) {
  const bench::Mlqd mlqd({true, true});
  bench::Plugin plugin(mlqd, agents);
  if (!plugin.push()) throw std::runtime_error("the jobs were not taken");
  bench::Crowd crowd(mlqd, {agents, options.points, options.query});
  crowd.run(bench::seconds() + kWarmUp);
  plugin.start(kInterval);
  crowd.run(bench::seconds() + kInterval);
  crowd.take_figures();
  const double mlqd_cpu = mlqd.cpu_seconds(), own_cpu = own_cpu_seconds(), began = bench::seconds();
  crowd.run(began + options.seconds);
  Run run;
  run.end = bench::seconds();
  run.seconds = run.end - began;
  run.mlqd_cpu = (mlqd.cpu_seconds() - mlqd_cpu) / run.seconds;
  run.own_cpu = (own_cpu_seconds() - own_cpu) / run.seconds;
  run.memory_mib = mlqd.memory_mib();
  run.crowd = crowd.take_figures();
  run.plugin = plugin.stop();
  // the targets of the first cycle were seen before the figures began
  std::erase_if(run.plugin.pushed, [began](const auto& entry) { return entry.second < began; });
  return run;
}

json_t* report(unsigned agents, const Run& run) {
  const bench::CrowdFigures& crowd = run.crowd;
  const Spread polls(crowd.polls), reports(crowd.reports), states(crowd.states);
  const Spread pulls(run.plugin.pulls), pushes(run.plugin.pushes), cycles(run.plugin.cycles);
  const Sight sight = sight_of(run.plugin, crowd, agents, run.end);
  const Spread each(sight.each), last(sight.last);
  const auto late = std::count_if(run.plugin.cycles.begin(), run.plugin.cycles.end(),
                                  [](double cycle) { return cycle > kDeadline; });
  const double answers = static_cast<double>(polls.count + reports.count + states.count) / run.seconds;
  std::fprintf(stderr,
               "%u agents: %.2f cores, %.0f answers/s, poll median %.2f ms, p99 %.1f ms, max %.1f ms, %llu "
               "errors, %.0f MiB; "
               "pull %.0f ms, push %.0f ms, %ld cycles over %.0f s; target at all agents after %.2f s; "
               "requests begun up to %.0f ms late\n",
               agents, run.mlqd_cpu, answers, polls.median_ms, polls.p99_ms, polls.max_ms,
               static_cast<unsigned long long>(crowd.errors), run.memory_mib, pulls.median_ms,
               pushes.median_ms, static_cast<long>(late), kDeadline, 1e-3 * last.max_ms,
               1e3 * crowd.lateness);
  const double count = std::max(1.0, static_cast<double>(polls.count));
  return json_pack(
      "{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
      "s:o}",
      "agents", static_cast<json_int_t>(agents), "seconds", run.seconds, "mlqd_cores", run.mlqd_cpu,
      "answers_per_s", answers, "memory_mib", run.memory_mib, "load_cores", run.own_cpu, "lateness_ms",
      1e3 * crowd.lateness, "poll_bytes", static_cast<double>(crowd.poll_bytes) / count, "errors",
      static_cast<json_int_t>(crowd.errors), "first_error", crowd.first_error.c_str(), "plugin_failures",
      static_cast<json_int_t>(run.plugin.failures), "cycles_over_deadline", static_cast<json_int_t>(late),
      "targets_missed", static_cast<json_int_t>(sight.missed), "poll_ms", polls.json(), "report_ms",
      reports.json(), "state_ms", states.json(), "pull_ms", pulls.json(), "push_ms", pushes.json(),
      "cycle_ms", cycles.json(), "seen_ms", each.json(), "seen_by_all_ms", last.json());
}

/// Core 0 is mlqd's.
void leave_core_0() {
  cpu_set_t others;
  if (sched_getaffinity(0, sizeof others, &others) != 0) return;
  CPU_CLR(0, &others);
  if (CPU_COUNT(&others) > 0) sched_setaffinity(0, sizeof others, &others);
}

void raise_open_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "mlqd with the agents, ranks and scheduler of a large cluster. Starts ./mlqd, or $MLQD, on core 0.",
      "bench_agents");
  app.add_option("--agents", options.agents, "how many, one run for each number")->delimiter(',');
  app.add_option("--seconds", options.seconds, "length of a run")->capture_default_str();
  app.add_option("--points", options.points, "losses in each report")->capture_default_str();
  app.add_option("--query", options.query, "of a poll")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    raise_open_files();
    leave_core_0();
    const Json runs(json_array());
    for (const unsigned agents : options.agents)
      json_array_append_new(runs.get(), report(agents, measure(agents, options)));
    json_dumpf(runs.get(), stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    std::puts("");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_agents: %s\n", error.what());
    return 1;
  }
}
