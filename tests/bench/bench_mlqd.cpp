// SPDX-License-Identifier: GPL-2.0-or-later
// How many reports mlqd reads, stores and acknowledges. Every acknowledged one is on disk (synchronous=FULL).
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/wire/report.hpp"
#include "core/wire/wire.hpp"
#include "tests/bench/mlqd_process.hpp"
#include "tools/mlqd/reader.hpp"
#include "tools/mlqd/store.hpp"

namespace {

using mlq::mlqd::Reader;
using mlq::mlqd::Reporter;
using mlq::mlqd::Store;

Reporter reporter(std::uint32_t job) {
  return {"bench", job, 1000, 0, 1'790'000'000};
}

mlq::wire::Report report(long first, int points) {
  std::string error;
  return *mlq::wire::parse_report(bench::report_body("s", first, points), error);
}

void parse(benchmark::State& state) {
  const std::string body = bench::report_body("s", 0, static_cast<int>(state.range(0)));
  std::string error;
  for (auto _ : state) benchmark::DoNotOptimize(mlq::wire::parse_report(body, error));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(parse)->Arg(1)->Arg(100);

/// One transaction of `range(0)` requests with `range(1)` points each, each of another job.
void commit(benchmark::State& state) {
  const bench::Folder folder;
  Store store(folder.path() + "/db");
  long first = 0;
  for (auto _ : state) {
    store.begin();
    for (std::uint32_t job = 1; job <= static_cast<std::uint32_t>(state.range(0)); ++job)
      store.add_report(reporter(job), report(first, static_cast<int>(state.range(1))), 1.79e9);
    store.commit();
    first += state.range(1);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}
BENCHMARK(commit)->Args({1, 1})->Args({1, 100})->Args({32, 10})->Args({32, 100})->UseRealTime();

/// mlqd on one core: `range(0)` jobs, each on its own connection, send requests of `range(1)` points.
void http(benchmark::State& state) {
  constexpr int kRequests = 200;
  const auto jobs = static_cast<unsigned>(state.range(0));
  const int points = static_cast<int>(state.range(1));
  const bench::Mlqd mlqd;
  long first = 0;
  double cpu = 0;
  for (auto _ : state) {
    std::vector<std::vector<std::string>> bodies(jobs);
    for (unsigned job = 0; job < jobs; ++job)
      for (int k = 0; k < kRequests; ++k)
        bodies[job].push_back(bench::report_body("s", first + k * points, points));
    first += static_cast<long>(kRequests) * points;
    std::atomic<bool> good{true};
    std::vector<std::thread> clients;
    const double cpu_before = mlqd.cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    for (unsigned job = 0; job < jobs; ++job)
      clients.emplace_back([&, job] {
        if (!mlqd.send(job + 1, bodies[job])) good = false;
      });
    for (std::thread& client : clients) client.join();
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    cpu += mlqd.cpu_seconds() - cpu_before;
    if (!good) state.SkipWithError("a report was not acknowledged");
  }
  const auto total = static_cast<double>(state.iterations()) * jobs * kRequests * points;
  state.SetItemsProcessed(static_cast<std::int64_t>(total));
  state.counters["reports_per_cpu_s"] = total / cpu;
}
BENCHMARK(http)
    ->Args({1, 100})
    ->Args({16, 1})
    ->Args({16, 10})
    ->Args({16, 100})
    ->Args({64, 100})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// What a scheduler asks for in each cycle: 1000 live jobs, 10 new points of each, 2 million older points.
void pull(benchmark::State& state) {
  const bench::Folder folder;
  Store store(folder.path() + "/db");
  for (long round = 0; round < 20; ++round) {
    store.begin();
    for (std::uint32_t job = 1; job <= 1000; ++job)
      store.add_report(reporter(job), report(round * 100, 100), 1.79e9);
    store.commit();
  }
  Reader reader(folder.path() + "/db", 1);
  const std::int64_t after = store.database().integer("SELECT max(seq) FROM point") - 10000;
  for (auto _ : state)
    benchmark::DoNotOptimize(mlq::wire::to_text(reader.points("bench", after, 10000, 1.79e9).get()));
}
BENCHMARK(pull)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
