// SPDX-License-Identifier: GPL-2.0-or-later
// What mlq_report() costs the training: median and 99th percentile of single calls, the clock's own cost
// included.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" {
#include "tests/unit/report_server.h"
}
#include "tools/client/mlq.h"

namespace {

using Clock = std::chrono::steady_clock;

void use_port(std::uint16_t port) {
  setenv("MLQ_URL", ("http://127.0.0.1:" + std::to_string(port)).c_str(), 1);
  setenv("MLQ_TOKEN", "token", 1);
}

/// Work between two reports, so that the caches see something else.
void compute(std::chrono::nanoseconds time) {
  for (const auto until = Clock::now() + time; Clock::now() < until;) benchmark::ClobberMemory();
}

void report(benchmark::State& state) {
  mlq_job* job = mlq_attach();
  const std::chrono::nanoseconds pause(state.range(0));
  std::vector<std::int64_t> costs;
  costs.reserve(1 << 20);
  double iteration = 0;
  for (auto _ : state) {
    if (pause.count()) compute(pause);
    const auto begin = Clock::now();
    mlq_report(job, iteration, 1 / (1 + iteration));
    const std::chrono::nanoseconds cost = Clock::now() - begin;
    iteration += 1;
    state.SetIterationTime(1e-9 * static_cast<double>(cost.count()));
    if (costs.size() < costs.capacity()) costs.push_back(cost.count());
  }
  mlq_counters counters;
  mlq_get_counters(job, &counters);
  mlq_detach(job);
  std::sort(costs.begin(), costs.end());
  state.counters["median_ns"] = static_cast<double>(costs[costs.size() / 2]);
  state.counters["p99_ns"] = static_cast<double>(costs[costs.size() * 99 / 100]);
  state.counters["sent"] = static_cast<double>(counters.sent);
}

void without_job(benchmark::State& state) {
  unsetenv("MLQ_URL");
  report(state);
}

void mlqd_up(benchmark::State& state) {
  report_server_t* server = report_server_start(0, nullptr);
  use_port(report_server_port(server));
  report(state);
  report_server_stop(server);
}

void mlqd_down(benchmark::State& state) {
  report_server_t* server = report_server_start(0, nullptr);
  use_port(report_server_port(server));
  report_server_stop(server);  // nobody listens there any more
  report(state);
}

void mlqd_hanging(benchmark::State& state) {
  std::uint16_t port = 0;
  const int fd = silent_socket(&port);
  use_port(port);
  report(state);
  close(fd);
}

// Argument: nanoseconds of work between two reports.
BENCHMARK(without_job)->Arg(0)->UseManualTime();
BENCHMARK(mlqd_up)->Arg(0)->Arg(20000)->UseManualTime()->Iterations(100000);
BENCHMARK(mlqd_down)->Arg(0)->Arg(20000)->UseManualTime()->Iterations(100000);
BENCHMARK(mlqd_hanging)->Arg(0)->Arg(20000)->UseManualTime()->Iterations(100000);

}  // namespace

BENCHMARK_MAIN();
