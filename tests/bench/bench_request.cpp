// SPDX-License-Identifier: GPL-2.0-or-later
// What the SPANK plugin adds to a submission (reading the option) and to a step's launch (key file and
// token).
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/request/quality_request.h"
#include "core/token/job_token.h"

namespace {

void parse(benchmark::State& state, const char* text) {
  mlq_request_t request;
  char error[MLQ_REQUEST_ERROR_MAX];
  for (auto _ : state) benchmark::DoNotOptimize(mlq_request_parse(text, &request, error, sizeof error));
}
BENCHMARK_CAPTURE(parse, bare, "");
BENCHMARK_CAPTURE(
    parse, all_keys,
    "goal=max,target=90%,min=1,max=16,unit=4,iterations=5000,batch=512,family=a,resize=requeue");
BENCHMARK_CAPTURE(parse, refused, "goal=max,target=nan");

void load_key_and_mint(benchmark::State& state) {
  std::string folder = "/tmp/mlq-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return state.SkipWithError("no folder");
  const std::string path = folder + "/key";
  char error[MLQ_TOKEN_ERROR_MAX], token[MLQ_TOKEN_MAX];
  if (mlq_key_create(path.c_str(), error, sizeof error) != 0) return state.SkipWithError(error);
  const mlq_claims_t claims{MLQ_ROLE_JOB, "cluster", 4711, 1000, 0, 1790000000, 1792592000};
  for (auto _ : state) {
    mlq_key_t key;
    if (mlq_key_load(path.c_str(), &key, error, sizeof error) != 0 ||
        mlq_token_mint(&claims, &key, token, sizeof token, error, sizeof error) != 0) {
      state.SkipWithError(error);
    }
    mlq_key_wipe(&key);
  }
  unlink(path.c_str());
  rmdir(folder.c_str());
}
BENCHMARK(load_key_and_mint);

}  // namespace

BENCHMARK_MAIN();
