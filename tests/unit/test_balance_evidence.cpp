// SPDX-License-Identifier: GPL-2.0-or-later
// When the balancer leaves the equal split and when it does not: equal ranks with noise, outliers and warm-up
// against ranks that truly differ or change.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/balance/policies.hpp"
#include "tests/unit/check_cpp.hpp"

namespace {

using namespace mlq::balance;

using Speeds = std::vector<std::vector<double>>;  // (iterations)(ranks), samples/s
constexpr std::uint64_t kShare = 192;

struct Noise {
  double deviation = 0, outliers = 0, memory = 0, warm_up = 0;
};

/// Equal ranks: noise of log-normal speeds with an AR(1) memory, iterations of half the speed, and a start
/// that is slower by `warm_up` on all ranks.
Speeds equal_ranks(const Noise& noise, unsigned seed, std::size_t ranks, std::size_t iterations) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Speeds speeds(iterations, std::vector<double>(ranks));
  std::vector<double> state(ranks);
  for (auto& s : state) s = noise.deviation * normal(random);
  const double fresh = std::sqrt(1 - noise.memory * noise.memory) * noise.deviation;
  for (std::size_t k = 0; k < iterations; ++k)
    for (std::size_t i = 0; i < ranks; ++i) {
      state[i] = noise.memory * state[i] + fresh * normal(random);
      speeds[k][i] = 1000 * (1 - noise.warm_up * std::exp(-static_cast<double>(k) / 12)) * std::exp(state[i]);
      if (uniform(random) < noise.outliers) speeds[k][i] /= 2;
    }
  return speeds;
}

struct Run {
  std::vector<double> seconds, equal, ideal;  // makespans
  std::vector<Sizes> sizes;                   // in use in the iteration
};

Run train(const Speeds& speeds, std::span<const std::uint64_t> caps = {}) {
  const std::size_t ranks = speeds.front().size();
  const auto policy = make_sizing_policy("lb", {.global_batch = kShare * ranks, .ranks = ranks});
  Run run;
  for (const auto& now : speeds) {
    std::vector<double> seconds(ranks);
    double sum = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
      seconds[i] = static_cast<double>(policy->sizes()[i]) / now[i];
      sum += now[i];
    }
    run.sizes.push_back(policy->sizes());
    run.seconds.push_back(*std::max_element(seconds.begin(), seconds.end()));
    run.equal.push_back(kShare / *std::min_element(now.begin(), now.end()));
    run.ideal.push_back(static_cast<double>(kShare * ranks) / sum);
    policy->next({.seconds = seconds, .sizes = {}, .states = {}, .max_sizes = caps});
  }
  return run;
}

double total(const std::vector<double>& seconds, std::size_t first, std::size_t last) {
  double sum = 0;
  for (std::size_t k = first; k < last; ++k) sum += seconds[k];
  return sum;
}

START_TEST(equal_ranks_never_pay_more_than_one_percent) {
  const Noise kinds[] = {{.deviation = 0.01},
                         {.deviation = 0.01, .outliers = 0.01},
                         {.deviation = 0.03, .outliers = 0.02},
                         {.deviation = 0.05, .outliers = 0.01, .memory = 0.5},
                         {.deviation = 0.05, .outliers = 0.01, .warm_up = 0.3},
                         {.deviation = 0.1, .outliers = 0.01},
                         {.deviation = 0.1, .outliers = 0.02, .warm_up = 0.3}};
  for (const auto& noise : kinds)
    for (const std::size_t ranks : {2u, 8u})
      for (unsigned seed = 1; seed <= (ranks == 2 ? 20u : 5u); ++seed) {
        const Run run = train(equal_ranks(noise, seed, ranks, 200));
        for (std::size_t first = 0; first <= 100; first += 10) {
          const double ratio = total(run.seconds, first, first + 100) / total(run.equal, first, first + 100);
          ck_assert_msg(ratio <= 1.01,
                        "deviation %g, outliers %g, memory %g, %zu ranks, seed %u, from %zu on: %g",
                        noise.deviation, noise.outliers, noise.memory, ranks, seed, first, ratio);
        }
      }
}
END_TEST

START_TEST(equal_ranks_stay_equal_while_a_machine_warms_up) {
  // Two pinned ranks of a real training, the first iterations.
  const Speeds speeds{{920, 917},   {1044, 933},  {860, 908},   {1003, 1057}, {1078, 1066}, {1147, 831},
                      {861, 1198},  {1099, 936},  {1015, 887},  {1231, 1134}, {1300, 1104}, {1140, 1128},
                      {1051, 1082}, {1352, 1070}, {1263, 1129}, {1303, 1126}, {1262, 1160}, {1085, 1360},
                      {1244, 1267}, {1097, 1292}, {1286, 674},  {677, 1310},  {1369, 862},  {1314, 1347}};
  for (const auto& sizes : train(speeds).sizes) ck_assert_uint_eq(sizes[0], kShare);
}
END_TEST

START_TEST(one_outlier_moves_nothing) {
  for (unsigned seed = 1; seed <= 20; ++seed)
    for (const std::size_t at : {1u, 2u, 5u, 12u, 60u})
      for (const double factor : {0.1, 0.5, 3.0}) {
        Speeds speeds = equal_ranks({.deviation = 0.02}, seed, 2, 100);
        speeds[at][seed % 2] *= factor;
        for (const auto& sizes : train(speeds).sizes)
          ck_assert_msg(sizes[0] == kShare, "x%g in iteration %zu, seed %u", factor, at, seed);
      }
}
END_TEST

START_TEST(a_step_change_is_followed_however_long_ranks_were_equal) {
  for (unsigned seed = 1; seed <= 20; ++seed)
    for (const std::size_t at : {3u, 12u, 50u, 150u})
      for (const double factor : {2.0, 4.0}) {
        Speeds speeds = equal_ranks({.deviation = 0.03}, seed, 2, at + 30);
        for (std::size_t k = at; k < speeds.size(); ++k) speeds[k][1] /= factor;
        const Run run = train(speeds);
        // By then half of what can be saved is saved: one iteration more while the noise is unknown.
        const std::size_t by = at + (at < 10 ? 4 : 3);
        for (std::size_t k = by; k < by + 20; ++k)
          ck_assert_msg(run.seconds[k] < 0.5 * (run.equal[k] + run.ideal[k]),
                        "x1/%g at %zu, seed %u: iteration %zu", factor, at, seed, k);
      }
}
END_TEST

START_TEST(a_small_lasting_difference_is_balanced) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Speeds speeds = equal_ranks({.deviation = 0.02}, seed, 4, 200);
    for (auto& now : speeds) now[2] *= 0.9;
    const Run run = train(speeds);
    const double saved = total(run.equal, 30, 200) - total(run.seconds, 30, 200);
    const double possible = total(run.equal, 30, 200) - kShare * 4 / 3900.0 * 170;
    ck_assert_msg(saved > 0.6 * possible, "seed %u: %g of %g s", seed, saved, possible);
  }
}
END_TEST

START_TEST(what_becomes_equal_is_split_equally_again) {
  Speeds speeds = equal_ranks({.deviation = 0.02}, 7, 2, 300);
  for (std::size_t k = 0; k < 80; ++k) speeds[k][0] /= 2;
  const Run run = train(speeds);
  ck_assert_uint_lt(run.sizes[79][0], 150);
  for (std::size_t k = 84; k < 300; ++k) ck_assert_double_le(run.seconds[k], 1.06 * run.equal[k]);
  ck_assert_double_le(total(run.seconds, 84, 300), 1.01 * total(run.equal, 84, 300));
}
END_TEST

START_TEST(caps_hold_while_ranks_count_as_equal) {
  const std::vector<std::uint64_t> caps{UINT64_MAX, 100, UINT64_MAX};
  const Run run = train(equal_ranks({.deviation = 0.05, .outliers = 0.02}, 3, 3, 100), caps);
  for (std::size_t k = 1; k < run.sizes.size(); ++k) {
    ck_assert_uint_eq(run.sizes[k][1], 100);
    ck_assert_uint_eq(run.sizes[k][0], 238);
    ck_assert_uint_eq(run.sizes[k][2], 238);
  }
}
END_TEST

}  // namespace

int main() {
  Suite* suite = suite_create("balance_evidence");
  TCase* evidence = tcase_create("evidence");
  tcase_set_timeout(evidence, 120);
  tcase_add_test(evidence, equal_ranks_never_pay_more_than_one_percent);
  tcase_add_test(evidence, equal_ranks_stay_equal_while_a_machine_warms_up);
  tcase_add_test(evidence, one_outlier_moves_nothing);
  tcase_add_test(evidence, a_step_change_is_followed_however_long_ranks_were_equal);
  tcase_add_test(evidence, a_small_lasting_difference_is_balanced);
  tcase_add_test(evidence, what_becomes_equal_is_split_equally_again);
  tcase_add_test(evidence, caps_hold_while_ranks_count_as_equal);
  suite_add_tcase(suite, evidence);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
