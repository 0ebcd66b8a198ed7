// SPDX-License-Identifier: GPL-2.0-or-later
// What prediction costs: a whole refit-and-predict, thousands of jobs in one cycle, the allocator's gain().
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/quality/curve.hpp"

namespace {

using mlq::LossCurve;

// Losses of one run: a falling curve of some rate, with `noise` in units of its first loss.
std::vector<double> losses(std::size_t count, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> uniform(0.01, 0.1);
  const double rate = uniform(random), floor = uniform(random);
  std::vector<double> out;
  for (std::size_t k = 1; k <= count; ++k) {
    const double x = static_cast<double>(k);
    out.push_back(floor + 0.5 * std::exp(-rate * x) + 0.4 / std::sqrt(x) + noise * gauss(random));
  }
  return out;
}

LossCurve curve_of(const std::vector<double>& y, std::size_t count) {
  LossCurve curve;
  for (std::size_t i = 0; i < count; ++i) curve.add({static_cast<double>(i + 1), y[i], 0, 0});
  return curve;
}

// From a history of 100 points that was never fitted.
void refit_and_predict_first(benchmark::State& state) {
  const auto y = losses(100, 1e-3 * static_cast<double>(state.range(0)), 1);
  for (auto _ : state) {
    state.PauseTiming();
    LossCurve curve = curve_of(y, y.size());
    state.ResumeTiming();
    curve.refit();
    benchmark::DoNotOptimize(curve.forecast(10));
  }
}
BENCHMARK(refit_and_predict_first)->Arg(0)->Arg(1)->Arg(30)->Unit(benchmark::kMicrosecond);

// As in a cycle: one more report, from 100 points on.
void refit_and_predict_next(benchmark::State& state) {
  const auto y = losses(200, 1e-3 * static_cast<double>(state.range(0)), 1);
  LossCurve curve = curve_of(y, 100);
  curve.refit();
  std::size_t next = 100;
  for (auto _ : state) {
    if (next == y.size()) {
      state.PauseTiming();
      curve = curve_of(y, 100);
      curve.refit();
      next = 100;
      state.ResumeTiming();
    }
    curve.add({static_cast<double>(next + 1), y[next], 0, 0});
    ++next;
    curve.refit();
    benchmark::DoNotOptimize(curve.forecast(10));
  }
}
BENCHMARK(refit_and_predict_next)->Arg(0)->Arg(1)->Arg(30)->Unit(benchmark::kMicrosecond);

// 4,000 different jobs of 100 points with a new report each.
void cycle_of_4000_jobs(benchmark::State& state) {
  constexpr std::size_t kJobs = 4000;
  std::vector<LossCurve> jobs;
  std::vector<double> next;
  for (unsigned j = 0; j < kJobs; ++j) {
    const auto y = losses(101, j % 3 == 0 ? 0 : 2e-3 * (j % 30), j);
    jobs.push_back(curve_of(y, 100));
    jobs.back().refit();
    next.push_back(y[100]);
  }
  double k = 101;
  for (auto _ : state) {
    for (std::size_t j = 0; j < kJobs; ++j) {
      jobs[j].add({k, next[j], 0, 0});
      jobs[j].refit();
      benchmark::DoNotOptimize(jobs[j].forecast(10));
    }
    ++k;
  }
}
BENCHMARK(cycle_of_4000_jobs)->Unit(benchmark::kMillisecond);

void gain(benchmark::State& state) {
  LossCurve curve = curve_of(losses(100, 1e-3, 1), 100);
  curve.refit();
  double h = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(curve.gain(h));
    h = h < 1000 ? h + 1.7 : 0;
  }
}
BENCHMARK(gain);

}  // namespace

BENCHMARK_MAIN();
