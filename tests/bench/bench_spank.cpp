// SPDX-License-Identifier: GPL-2.0-or-later
// What the SPANK plugin takes in slurmstepd, against a Slurm of stubs: once per task and once per step and
// node.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" {
#include "slurm-plugin/spank/node_speeds.h"
#include "tests/unit/spank_stubs.h"
int slurm_spank_init(spank_t sp, int ac, char** av);
int slurm_spank_init_post_opt(spank_t sp, int ac, char** av);
int slurm_spank_task_init(spank_t sp, int ac, char** av);
int slurm_spank_exit(spank_t sp, int ac, char** av);
}

namespace {

char url[] = "url=http://head:6850", cluster[] = "cluster=c1", key[64] = "";
char* arguments[] = {url, key, cluster};

void step(int nodes, int tasks) {
  fake_reset(S_CTX_REMOTE);
  slurm_spank_init(FAKE_SPANK, 3, arguments);
  std::string speeds;
  for (int i = 1; i <= nodes; ++i)
    speeds += (i > 1 ? ",n" : "n") + std::to_string(i) + "=" + std::to_string(5000 + i % 7000);
  set_job_env(NODE_SPEEDS, speeds.c_str());
  set_job_env("SLURM_STEP_NODELIST", ("n[1-" + std::to_string(nodes) + "]").c_str());
  set_job_env("SLURM_STEP_TASKS_PER_NODE",
              (std::to_string(tasks) + "(x" + std::to_string(nodes) + ")").c_str());
  fake.ranks = static_cast<std::uint32_t>(nodes * tasks);
  fake.node = static_cast<std::uint32_t>(nodes / 2);
  fake.option->cb(0, "batch=1000000", 1);
}

void per_step(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    slurm_spank_exit(FAKE_SPANK, 3, arguments);
    step(static_cast<int>(state.range(0)), 8);
    state.ResumeTiming();
    slurm_spank_init_post_opt(FAKE_SPANK, 3, arguments);
  }
}
BENCHMARK(per_step)->Arg(4)->Arg(512)->Unit(benchmark::kMicrosecond);

void per_task(benchmark::State& state) {
  slurm_spank_exit(FAKE_SPANK, 3, arguments);
  step(512, 8);
  slurm_spank_init_post_opt(FAKE_SPANK, 3, arguments);
  for (auto _ : state) {
    fake.task = (fake.task + 1) % 8;
    slurm_spank_task_init(FAKE_SPANK, 3, arguments);
  }
}
BENCHMARK(per_task)->Unit(benchmark::kMicrosecond);

}  // namespace

int main(int argc, char** argv) {
  char path[] = "/tmp/mlq-bench-key-XXXXXX";
  const int descriptor = mkstemp(path);
  FILE* file = descriptor >= 0 ? fdopen(descriptor, "w") : nullptr;
  if (!file) return 1;
  std::fputs("0123456789abcdef0123456789abcdef0123456789abcdef", file);
  std::fclose(file);
  std::snprintf(key, sizeof key, "key=%s", path);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::remove(path);
  return 0;
}
