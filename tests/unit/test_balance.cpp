// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmath>
#include <numeric>
#include <random>

#include "core/balance/policies.hpp"
#include "core/balance/rank_fit.hpp"
#include "core/balance/replay.hpp"
#include "core/balance/shadow.hpp"
#include "core/balance/sizing.hpp"

#include <check.h>  // last: its macros break standard headers

using namespace mlq::balance;

namespace {

std::uint64_t sum(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
}

/// Smallest makespan by trying every assignment of `left` grains to the ranks from `i` on.
double brute_force(std::span<const RankTime> ranks, std::uint64_t left, std::uint64_t grain,
                   std::size_t i = 0) {
  const auto bounded = [&](std::uint64_t grains) {
    const std::uint64_t size = grains * grain;
    return size >= ranks[i].min_size && size <= ranks[i].max_size ? ranks[i].seconds(size) : INFINITY;
  };
  if (i + 1 == ranks.size()) return bounded(left);
  double best = INFINITY;
  for (std::uint64_t grains = 0; grains <= left; ++grains)
    best = std::min(best, std::max(bounded(grains), brute_force(ranks, left - grains, grain, i + 1)));
  return best;
}

RankTime random_rank(std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  RankTime rank{.per_sample = 0.01 + unit(random)};
  if (unit(random) < 0.5) rank.fixed = unit(random);
  if (unit(random) < 0.5) rank.saturation = 4 * unit(random);
  if (unit(random) < 0.3) rank.min_size = random() % 3;
  if (unit(random) < 0.3) rank.max_size = rank.min_size + random() % 12;
  return rank;
}

START_TEST(makespan_equals_brute_force) {
  std::mt19937 random(7);
  int feasible = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<RankTime> ranks(2 + random() % 3);
    for (auto& rank : ranks) rank = random_rank(random);
    const std::uint64_t grain = 1 + random() % 3, grains = 1 + random() % 16;
    const double best = brute_force(ranks, grains, grain);
    const auto sizes = solve_equal_finish(grains * grain, ranks, grain);
    ck_assert_msg(sizes.has_value() == std::isfinite(best), "trial %d: feasibility differs", trial);
    if (!sizes) continue;
    ++feasible;
    ck_assert_uint_eq(sum(*sizes), grains * grain);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ck_assert_uint_ge((*sizes)[i], ranks[i].min_size);
      ck_assert_uint_le((*sizes)[i], ranks[i].max_size);
      ck_assert_uint_eq((*sizes)[i] % grain, 0);
    }
    ck_assert_double_le(makespan(*sizes, ranks), best * (1 + 1e-12));
  }
  ck_assert_int_gt(feasible, 500);
}
END_TEST

START_TEST(sum_is_exact_at_4096_ranks) {
  std::mt19937 random(11);
  std::vector<RankTime> ranks(4096);
  for (auto& rank : ranks) rank.per_sample = 1e-4 * (1 + random() % 100);
  for (const std::uint64_t batch : {4096u, 4097u, 65536u, 1000003u}) {
    const auto sizes = solve_equal_finish(batch, ranks);
    ck_assert(sizes.has_value());
    ck_assert_uint_eq(sum(*sizes), batch);
  }
}
END_TEST

START_TEST(remainder_of_the_grain_is_not_lost) {
  const std::vector<RankTime> ranks{{.per_sample = 1}, {.per_sample = 2}, {.per_sample = 4}};
  const auto sizes = solve_equal_finish(59, ranks, 8);
  ck_assert(sizes.has_value());
  ck_assert_uint_eq(sum(*sizes), 59);
  int ragged = 0;
  for (auto size : *sizes) ragged += size % 8 != 0;
  ck_assert_int_eq(ragged, 1);
}
END_TEST

START_TEST(impossible_or_invalid_input_is_refused) {
  const std::vector<RankTime> capped{{.per_sample = 1, .max_size = 4}, {.per_sample = 1, .max_size = 4}};
  ck_assert(solve_equal_finish(8, capped).has_value());
  ck_assert(!solve_equal_finish(9, capped).has_value());
  const std::vector<RankTime> floors{{.per_sample = 1, .min_size = 5}, {.per_sample = 1, .min_size = 5}};
  ck_assert(!solve_equal_finish(9, floors).has_value());
  ck_assert(!solve_equal_finish(4, std::vector<RankTime>{{.per_sample = 0}}).has_value());
  ck_assert(!solve_equal_finish(4, std::vector<RankTime>{{.per_sample = NAN}}).has_value());
  ck_assert(!solve_equal_finish(4, {}).has_value());
  ck_assert(!solve_equal_finish(4, capped, 0).has_value());
  ck_assert(!proportional_split(4, std::vector<double>{0, 0}).has_value());
  ck_assert(!proportional_split(4, std::vector<double>{1, NAN}).has_value());
}
END_TEST

START_TEST(proportional_split_of_measured_gpus) {
  // K520, K80, M60: samples/s of ResNet-32 on CIFAR-10 (R2SP, INFOCOM '19).
  const auto sizes = proportional_split(1974, std::vector<double>{429, 628, 917});
  ck_assert(sizes.has_value());
  ck_assert_uint_eq((*sizes)[0], 429);
  ck_assert_uint_eq((*sizes)[1], 628);
  ck_assert_uint_eq((*sizes)[2], 917);
  const auto idle = proportional_split(10, std::vector<double>{1, 0});
  ck_assert_uint_eq((*idle)[0], 10);
  ck_assert_uint_eq((*idle)[1], 0);
}
END_TEST

START_TEST(hash_tells_decisions_apart) {
  const Sizes a{1, 2, 3}, b{1, 3, 2};
  ck_assert_uint_eq(decision_hash(a), decision_hash(Sizes{1, 2, 3}));
  ck_assert_uint_ne(decision_hash(a), decision_hash(b));
}
END_TEST

START_TEST(fit_recovers_saturation_and_line) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(1, 0.02);
  const RankTime truth{.saturation = 0.2, .fixed = 0.05, .per_sample = 0.001};
  RankTimeFit fit;
  for (int round = 0; round < 7; ++round)
    for (std::uint64_t size : {32u, 64u, 100u, 256u, 400u, 512u}) {
      const double spike = random() % 20 == 0 ? 2 : 1;
      fit.observe(size, truth.seconds(size) * noise(random) * spike);
    }
  const RankTime found = fit.fit();
  ck_assert_double_eq_tol(found.saturation, truth.saturation, 0.01);
  ck_assert_double_eq_tol(found.per_sample, truth.per_sample, 0.0001);
  ck_assert_double_eq_tol(found.fixed, truth.fixed, 0.03);
}
END_TEST

START_TEST(one_size_is_taken_as_proportional) {
  RankTimeFit fit;
  ck_assert(!fit.known());
  for (int i = 0; i < 5; ++i) fit.observe(100, 2.0);
  ck_assert_double_eq_tol(fit.fit().per_sample, 0.02, 1e-12);
  ck_assert_double_eq(fit.fit().fixed, 0);
  fit.out_of_memory(160);
  ck_assert_uint_eq(fit.fit().max_size, 139);
}
END_TEST

START_TEST(gpus_finish_together_within_12_iterations) {
  // 2 x K520, 2 x K80, 4 x M60, global batch 4096, 3 % noise and 2 % doubled times.
  const std::vector<double> speeds{429, 429, 628, 628, 917, 917, 917, 917};
  std::vector<RankTime> truth(8);
  for (std::size_t i = 0; i < 8; ++i) truth[i] = {.per_sample = 1 / speeds[i]};
  const auto optimum = solve_equal_finish(4096, truth);
  const double best = makespan(*optimum, truth);
  int within = 0;
  constexpr int kRuns = 20;
  for (int run = 0; run < kRuns; ++run) {
    std::mt19937 random(100 + run);
    std::normal_distribution<double> noise(1, 0.03);
    const auto policy = make_sizing_policy("gpu", {.global_batch = 4096, .ranks = 8});
    ck_assert_double_gt(makespan(policy->sizes(), truth), 1.5 * best);
    for (int k = 0; k < 12; ++k) {
      std::vector<double> seconds(8);
      for (std::size_t i = 0; i < 8; ++i)
        seconds[i] = truth[i].seconds(policy->sizes()[i]) * noise(random) * (random() % 50 == 0 ? 2 : 1);
      policy->next({.seconds = seconds, .sizes = {}, .states = {}, .max_sizes = {}});
      ck_assert_uint_eq(sum(policy->sizes()), 4096);
    }
    within += makespan(policy->sizes(), truth) <= 1.03 * best;
  }
  ck_assert_msg(within == kRuns, "only %d of %d runs came within 3 %%", within, kRuns);
}
END_TEST

START_TEST(memory_caps_are_never_exceeded) {
  const std::vector<std::uint64_t> caps{UINT64_MAX, 300, 100};
  // With speeds that cannot be foreseen the policies give up balancing, but not the caps.
  std::mt19937 random(41);
  for (const auto name : {"lb", "gpu"})
    for (const unsigned spread : {1u, 8u}) {
      const auto policy = make_sizing_policy(name, {.global_batch = 900, .ranks = 3});
      for (int k = 0; k < 400; ++k) {
        std::vector<double> seconds(3);
        for (std::size_t i = 0; i < 3; ++i)
          seconds[i] = static_cast<double>(policy->sizes()[i]) / (100.0 * (i + 1)) * (1 + random() % spread);
        policy->next(
            {.seconds = seconds, .sizes = {}, .states = std::vector<NodeState>(3), .max_sizes = caps});
        for (std::size_t i = 0; i < 3; ++i) ck_assert_uint_le(policy->sizes()[i], caps[i]);
        ck_assert_uint_eq(sum(policy->sizes()), 900);
      }
    }
}
END_TEST

START_TEST(memory_may_leave_too_few_whole_grains) {
  const std::vector<std::uint64_t> caps{197, 190};  // 24 and 23 grains of 8, 48 are needed
  for (const auto name : {"lb", "gpu"}) {
    const auto policy = make_sizing_policy(name, {.global_batch = 384, .ranks = 2, .grain = 8});
    const std::vector<double> seconds{1, 1};
    for (int k = 0; k < 40; ++k) {
      policy->next({.seconds = seconds, .sizes = {}, .states = std::vector<NodeState>(2), .max_sizes = caps});
    }
    ck_assert_uint_eq(policy->sizes()[0], 196);
    ck_assert_uint_eq(policy->sizes()[1], 188);
  }
}
END_TEST

START_TEST(usual_grain_leaves_ranks_enough_of_them) {
  ck_assert_uint_eq(usual_grain(512, 2), 8);
  ck_assert_uint_eq(usual_grain(511, 2), 4);
  ck_assert_uint_eq(usual_grain(384, 2), 4);
  ck_assert_uint_eq(usual_grain(128, 2), 2);
  ck_assert_uint_eq(usual_grain(127, 2), 1);
  ck_assert_uint_eq(usual_grain(1, 4096), 1);
  ck_assert_uint_eq(usual_grain(std::uint64_t{1} << 20, 4096), 8);
  ck_assert_uint_eq(usual_grain((std::uint64_t{1} << 20) - 1, 4096), 4);
}
END_TEST

START_TEST(every_policy_keeps_the_global_batch) {
  std::mt19937 random(5);
  for (const auto name : sizing_policy_names()) {
    const auto policy = make_sizing_policy(name, {.global_batch = 1001, .ranks = 7, .epoch_iterations = 9});
    ck_assert(policy != nullptr);
    for (int k = 0; k < 200; ++k) {
      std::vector<double> seconds(7);
      for (auto& s : seconds) s = 0.01 + 1e-4 * (random() % 1000);
      policy->next({.seconds = seconds, .sizes = {}, .states = std::vector<NodeState>(7), .max_sizes = {}});
      ck_assert_msg(sum(policy->sizes()) == 1001, "%s lost samples", std::string(name).c_str());
    }
  }
  ck_assert(make_sizing_policy("other", {.global_batch = 1, .ranks = 1}) == nullptr);
}
END_TEST

START_TEST(shadow_reverts_only_when_balancing_loses) {
  Shadow loses, wins;
  for (int i = 0; i < 40; ++i) {
    loses.observe(1.1, 1.0);
    wins.observe(0.9, 1.0);
  }
  ck_assert(loses.reverted());
  ck_assert(!wins.reverted());
}
END_TEST

START_TEST(narx_follows_a_signal_that_averages_cannot_see) {
  std::mt19937 random(17);
  std::normal_distribution<double> noise(1, 0.02);
  SpeedTrace trace{{"0"}, {}, {}};
  double share = 1;
  for (int k = 0; k < 1500; ++k) {
    if (random() % 12 == 0) share = 0.2 + 0.8 * (random() % 1000) / 1000;
    trace.states.push_back({{share, 1}});
    trace.speeds.push_back({100 * std::pow(share, 0.8) * noise(random)});
  }
  const double ema = prediction_rmse(trace, "ema", 200), arima = prediction_rmse(trace, "arima", 200);
  const double narx = prediction_rmse(trace, "narx", 200);
  ck_assert_double_lt(narx, 0.6 * std::min(ema, arima));
}
END_TEST

START_TEST(level_loses_the_noise_and_follows_steps) {
  std::mt19937 random(29);
  std::normal_distribution<double> noise(1, 0.03);
  const auto level = make_speed_predictor("level"), average = make_speed_predictor("ema");
  const auto run = [&](double speed, int iterations) {
    for (int k = 0; k < iterations; ++k) {
      const double measured = speed * noise(random);
      level->observe({}, measured);
      average->observe({}, measured);
    }
    return level->predict({});
  };
  double squares = 0, average_squares = 0;
  run(100, 100);
  for (int k = 0; k < 200; ++k) {
    squares += std::pow(run(100, 1) - 100, 2) / 200;
    average_squares += std::pow(average->predict({}) - 100, 2) / 200;
  }
  ck_assert_double_lt(std::sqrt(squares), 0.5 * std::sqrt(average_squares));
  ck_assert_double_lt(std::sqrt(squares), 0.6);
  ck_assert_double_eq_tol(run(50, 6), 50, 3);   // a large step at once
  ck_assert_double_eq_tol(run(54, 25), 54, 2);  // a small one within its time
  level->observe({}, 200);                      // a spike
  ck_assert_double_eq_tol(run(54, 3), 54, 3);
}
END_TEST

START_TEST(predictors_stay_finite_on_hostile_input) {
  for (const auto name : {"last", "ema", "level", "arima", "arx", "narx", "best"}) {
    const auto predictor = make_speed_predictor(name);
    ck_assert_double_eq(predictor->predict({}), 0);
    std::mt19937 random(23);
    const double values[] = {NAN, INFINITY, -1, 0, 1e-300, 1e300, 1, 1e-5, 12.5};
    for (int k = 0; k < 3000; ++k) {
      const NodeState state{values[random() % 9], values[random() % 9]};
      const double predicted = predictor->predict(state);
      ck_assert_msg(std::isfinite(predicted) && predicted >= 0, "%s gave %g", name, predicted);
      predictor->observe(state, values[random() % 9]);
    }
  }
  ck_assert(make_speed_predictor("other") == nullptr);
}
END_TEST

}  // namespace

int main() {
  Suite* suite = suite_create("balance");
  TCase* sizing = tcase_create("sizing");
  tcase_add_test(sizing, makespan_equals_brute_force);
  tcase_add_test(sizing, sum_is_exact_at_4096_ranks);
  tcase_add_test(sizing, remainder_of_the_grain_is_not_lost);
  tcase_add_test(sizing, impossible_or_invalid_input_is_refused);
  tcase_add_test(sizing, proportional_split_of_measured_gpus);
  tcase_add_test(sizing, hash_tells_decisions_apart);
  suite_add_tcase(suite, sizing);
  TCase* fit = tcase_create("fit");
  tcase_add_test(fit, fit_recovers_saturation_and_line);
  tcase_add_test(fit, one_size_is_taken_as_proportional);
  suite_add_tcase(suite, fit);
  TCase* policies = tcase_create("policies");
  tcase_add_test(policies, gpus_finish_together_within_12_iterations);
  tcase_add_test(policies, memory_caps_are_never_exceeded);
  tcase_add_test(policies, memory_may_leave_too_few_whole_grains);
  tcase_add_test(policies, usual_grain_leaves_ranks_enough_of_them);
  tcase_add_test(policies, every_policy_keeps_the_global_batch);
  tcase_add_test(policies, shadow_reverts_only_when_balancing_loses);
  suite_add_tcase(suite, policies);
  TCase* speed = tcase_create("speed");
  tcase_set_timeout(speed, 60);
  tcase_add_test(speed, narx_follows_a_signal_that_averages_cannot_see);
  tcase_add_test(speed, level_loses_the_noise_and_follows_steps);
  tcase_add_test(speed, predictors_stay_finite_on_hostile_input);
  suite_add_tcase(suite, speed);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
