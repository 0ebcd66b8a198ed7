// SPDX-License-Identifier: GPL-2.0-or-later
// What sizing and prediction cost at an iteration boundary.
#include <benchmark/benchmark.h>

#include <random>

#include "core/balance/policies.hpp"

using namespace mlq::balance;

namespace {

void solve(benchmark::State& state) {
  std::mt19937 random(1);
  std::vector<RankTime> ranks(static_cast<std::size_t>(state.range(0)));
  for (auto& rank : ranks) rank.per_sample = 1e-3 * (1 + random() % 100);
  const std::uint64_t batch = 256 * ranks.size();
  for (auto _ : state) {
    ranks[0].per_sample *= 1.0001;
    benchmark::DoNotOptimize(solve_equal_finish(batch, ranks));
  }
}
BENCHMARK(solve)->Arg(8)->Arg(96)->Arg(1024)->Arg(4096)->Unit(benchmark::kMicrosecond);

/// One rank's predictor: predict and learn.
void predictor(benchmark::State& state, std::string_view name) {
  std::mt19937 random(2);
  const auto model = make_speed_predictor(name);
  for (auto _ : state) {
    const NodeState now{0.5 + 0.001 * static_cast<double>(random() % 500), 1};
    benchmark::DoNotOptimize(model->predict(now));
    model->observe(now, 100 * now.cpu);
  }
}
BENCHMARK_CAPTURE(predictor, ema, "ema")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(predictor, arima, "arima")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(predictor, arx, "arx")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(predictor, narx, "narx")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(predictor, best, "best")->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
