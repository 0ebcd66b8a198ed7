// SPDX-License-Identifier: GPL-2.0-or-later
// Decision time against jobs and cores, fits cached, one core. tests/bench/decision-time prints it as a table
// and a plot.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "core/allocation/policy.hpp"

namespace {

struct Cluster {
  std::vector<mlq::Pool> pools;
  std::vector<mlq::Outlook> outlooks;
  std::vector<mlq::TwoPointForecast> recent;
  std::vector<mlq::JobView> jobs;
  mlq::ClusterView view;
};

Cluster make_cluster(std::size_t count, std::uint32_t cores) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  Cluster cluster;
  cluster.pools = {{cores, 1}};
  cluster.outlooks.resize(count);
  cluster.recent.resize(count);
  cluster.jobs.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double speed = 0.01 + 0.2 * uniform(random), work = std::exp(6 * uniform(random)),
                 done = 200 * uniform(random);
    mlq::Outlook& outlook = cluster.outlooks[i];
    outlook.known = true;
    outlook.fraction = 1 - std::exp(-speed * done);
    outlook.to_target = outlook.fraction < 0.95 ? (3 / speed - done) : 0;
    outlook.to_end = 400 - done;
    outlook.gain = mlq::GainTable([&](double n) { return (1 - outlook.fraction) * -std::expm1(-speed * n); });
    for (int n = 0; n < 5; ++n) cluster.recent[i].add(std::exp(-speed * (done + n)), work);
    mlq::JobView& job = cluster.jobs[i];
    job.request.key = i;
    job.request.max = 64;
    job.rate = {0.002 * work, work, 0};
    job.outlook = &outlook;
    job.recent = &cluster.recent[i];
  }
  cluster.view = {1000, 3, cluster.pools, cluster.jobs, {}};
  return cluster;
}

void decide(benchmark::State& state, const char* policy_name) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto cores = static_cast<std::uint32_t>(state.range(1));
  const Cluster cluster = make_cluster(count, cores);
  const auto policy = mlq::make_policy(policy_name);
  for (auto _ : state) benchmark::DoNotOptimize(policy->decide(cluster.view).units.data());
  state.counters["jobs"] = static_cast<double>(count);
  state.counters["cores"] = static_cast<double>(cores);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMillisecond);
  for (int jobs : {250, 1000, 4000, 16000, 64000, 100000})
    for (int per_job : {4, 10}) bench->Args({jobs, jobs * per_job});
}

BENCHMARK_CAPTURE(decide, mlq, "mlq")->Apply(sizes);
BENCHMARK_CAPTURE(decide, slaq, "slaq")->Apply(sizes);
BENCHMARK_CAPTURE(decide, fair, "fair")->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
