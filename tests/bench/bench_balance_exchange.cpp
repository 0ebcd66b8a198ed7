// SPDX-License-Identifier: GPL-2.0-or-later
// What balancing costs a rank among many: sampling its node, its vector, and the decision from everybody's
// vectors. The peers are simulated in this process: their vectors are made outside the measured time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>
#include <thread>
#include <vector>

#include "tools/client/balance/mlq_balance.h"
#include "tools/client/balance/node_sampler.hpp"

namespace {

constexpr int kSeconds = 0, kSize = 1, kSpeed = 2;

struct Peers {
  explicit Peers(std::uint32_t ranks)
      : balancer(mlq_balance_create(
            &(const mlq_balance_options&)mlq_balance_options{.global_batch = 256ull * ranks,
                                                             .ranks = ranks,
                                                             .rank = 0,
                                                             .grain = 1,
                                                             .policy = nullptr,
                                                             .predictor = nullptr})),
        all(static_cast<std::size_t>(ranks) * MLQ_BALANCE_FIELDS),
        speeds(ranks) {
    for (auto& speed : speeds) speed = 1000 + static_cast<double>(random() % 3000);
  }
  ~Peers() { mlq_balance_destroy(balancer); }
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// One iteration of this rank: its vector, the others' beside it, the decision.
  void iterate() {
    const auto* sizes = mlq_balance_sizes(balancer);
    mlq_balance_vector(balancer, static_cast<double>(sizes[0]) / speeds[0] * jitter(random), sizes[0],
                       all.data());
    mlq_balance_next(balancer, all.data());
  }
  void prepare() {
    const auto* sizes = mlq_balance_sizes(balancer);
    mlq_balance_vector(balancer, 0, 0, all.data());  // for the hash
    for (std::size_t i = 1; i < speeds.size(); ++i) {
      double* vector = &all[i * MLQ_BALANCE_FIELDS];
      std::copy_n(all.data(), MLQ_BALANCE_FIELDS, vector);
      vector[kSeconds] = static_cast<double>(sizes[i]) / speeds[i] * jitter(random);
      vector[kSize] = static_cast<double>(sizes[i]);
      vector[kSpeed] = speeds[i] * jitter(random);
    }
  }

  mlq_balancer* balancer;
  std::vector<double> all, speeds;
  std::mt19937 random{1};
  std::normal_distribution<double> jitter{1, 0.02};
};

double cpu_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void exchange(benchmark::State& state) {
  Peers peers(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    peers.prepare();
    state.ResumeTiming();
    peers.iterate();
  }
}
BENCHMARK(exchange)->Arg(8)->Arg(96)->Arg(1024)->Unit(benchmark::kMicrosecond)->Iterations(2000);

void sample(benchmark::State& state) {
  mlq::balance::NodeSampler sampler;
  for (auto _ : state) benchmark::DoNotOptimize(sampler.sample());
}
BENCHMARK(sample)->Unit(benchmark::kMicrosecond);

/// Iterations of 100 ms in real time: CPU time of the sampling thread and of the exchange, as a share of
/// them.
void iterations_of_100_ms(benchmark::State& state) {
  Peers peers(96);
  const auto others = [] {
    return cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
  };
  double exchanging = 0;
  int count = 0;
  const double before = others();
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    peers.prepare();
    const double start = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    peers.iterate();
    exchanging += cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
    ++count;
  }
  const double sampling = others() - before;
  state.counters["sampling_us"] = 1e6 * sampling / count;
  state.counters["exchange_us"] = 1e6 * exchanging / count;
  state.counters["percent_of_iteration"] = 100 * (sampling + exchanging) / (0.1 * count);
}
BENCHMARK(iterations_of_100_ms)->Iterations(200)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
