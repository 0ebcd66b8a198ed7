// SPDX-License-Identifier: GPL-2.0-or-later
#include <check.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/allocation/ranking.hpp"
#include "core/quality/family_prior.hpp"
#include "tests/unit/test_allocation.hpp"

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

START_TEST(ranks_by_gain_per_core) {
  const std::vector<mlq::RankInput> jobs{{10, 0.2, 1}, {11, 0.6, 2}, {12, 0.3, 4}};
  const auto ranks = mlq::rank_by_gain(jobs);
  ck_assert_uint_eq(ranks[0].rank, 2);
  ck_assert_uint_eq(ranks[1].rank, 1);
  ck_assert_uint_eq(ranks[2].rank, 3);
  ck_assert_double_eq_tol(ranks[1].gain_per_core, 0.3, 1e-12);
  ck_assert_double_eq(ranks[1].score, 1);
  ck_assert_double_eq_tol(ranks[2].score, 0.25, 1e-12);
  ck_assert_uint_eq(ranks[2].key, 12);
}
END_TEST

START_TEST(ties_go_by_key) {
  const std::vector<mlq::RankInput> jobs{{9, 0.5, 1}, {3, 0.5, 1}, {7, 1, 2}};
  const auto ranks = mlq::rank_by_gain(jobs);
  ck_assert_uint_eq(ranks[0].rank, 3);
  ck_assert_uint_eq(ranks[1].rank, 1);
  ck_assert_uint_eq(ranks[2].rank, 2);
}
END_TEST

START_TEST(hostile_gains_count_as_none) {
  const std::vector<mlq::RankInput> jobs{{1, nan, 1},   {2, inf, 1}, {3, -1, 1},
                                         {4, 0.1, nan}, {5, 0.1, 0}, {6, 9, 1}};
  const auto ranks = mlq::rank_by_gain(jobs);
  for (int i : {0, 1, 2, 3}) ck_assert_double_eq(ranks[i].gain_per_core, 0);
  ck_assert_double_eq(ranks[4].gain_per_core, 0.1);  // less than a core counts as one
  ck_assert_double_eq(ranks[5].gain_per_core, 1);    // gains end at 1
  ck_assert_uint_eq(ranks[5].rank, 1);
  ck_assert_uint_eq(ranks[3].rank, 6);
  ck_assert(mlq::rank_by_gain({}).empty());
}
END_TEST

START_TEST(no_gain_no_score) {
  const std::vector<mlq::RankInput> jobs{{2, 0, 1}, {1, 0, 1}};
  const auto ranks = mlq::rank_by_gain(jobs);
  ck_assert_double_eq(ranks[0].score, 0);
  ck_assert_uint_eq(ranks[1].rank, 1);
}
END_TEST

const mlq::RunSummary short_run{{10, 30, 80, 200, 300}};

START_TEST(prior_of_one_run) {
  mlq::FamilyPrior prior;
  ck_assert_double_eq(prior.gain(100), 0);
  prior.add(short_run);
  ck_assert_uint_eq(prior.runs(), 1);
  ck_assert_double_eq(prior.gain(0), 0);
  ck_assert_double_eq_tol(prior.gain(10), 0.25, 1e-12);
  ck_assert_double_eq_tol(prior.gain(20), 0.375, 1e-12);
  ck_assert_double_eq_tol(prior.gain(200), 0.9, 1e-12);
  ck_assert_double_gt(prior.gain(400), 0.95);
  ck_assert_double_le(prior.gain(1e12), 1);
}
END_TEST

START_TEST(prior_is_concave) {
  mlq::FamilyPrior prior;
  prior.add({{100, 110, 120, 500, 505}});  // slow start, plateau, late fall
  double before = 0, slope = inf;
  for (int x = 1; x < 2000; ++x) {
    const double now = prior.gain(x);
    ck_assert_double_ge(now, before - 1e-12);
    ck_assert_double_le(now - before, slope + 1e-12);
    slope = now - before;
    before = now;
  }
  ck_assert_double_eq_tol(prior.gain(120), 0.75, 1e-9);
}
END_TEST

START_TEST(prior_is_a_geometric_mean) {
  mlq::FamilyPrior prior;
  prior.add(short_run);
  prior.add({{40, 120, 320, 800, 1200}});
  ck_assert_double_eq_tol(prior.summary().core_seconds[0], 20, 1e-9);
  ck_assert_double_eq_tol(prior.summary().core_seconds[4], 600, 1e-9);
  for (int i = 0; i < 40; ++i) prior.add({{1, 2, 3, 4, 5}});
  ck_assert_double_lt(prior.summary().core_seconds[0], 1.01);  // newer runs outweigh
}
END_TEST

START_TEST(prior_refuses_what_is_no_summary) {
  mlq::FamilyPrior prior;
  prior.add({{1, 2, nan, 4, 5}});
  prior.add({{1, 2, inf, inf, inf}});
  prior.add({{0, 2, 3, 4, 5}});
  prior.add({{3, 2, 3, 4, 5}});
  ck_assert_uint_eq(prior.runs(), 0);
  prior.restore({{3, 2, 3, 4, 5}}, 4);
  ck_assert_uint_eq(prior.runs(), 0);
  prior.restore(short_run, 4);
  ck_assert_uint_eq(prior.runs(), 4);
  ck_assert_double_eq_tol(prior.gain(10), 0.25, 1e-12);
}
END_TEST

START_TEST(summary_of_a_run) {
  // 0.8 of the reachable reduction is all this run got: its own fractions count against that.
  const std::vector<mlq::ProgressSample> samples{{0, 0},    {10, 0.2}, {nan, 0.9}, {20, 0.6},
                                                 {30, 0.5}, {40, 0.8}, {90, 0.8}};
  const auto run = mlq::summarise_run(samples);
  ck_assert(run.has_value());
  ck_assert_double_eq_tol(run->core_seconds[0], 10, 1e-9);
  ck_assert_double_eq_tol(run->core_seconds[1], 15, 1e-9);
  ck_assert_double_eq_tol(run->core_seconds[2], 20, 1e-9);
  ck_assert_double_eq_tol(run->core_seconds[3], 32, 1e-9);
  ck_assert_double_eq_tol(run->core_seconds[4], 36, 1e-9);
}
END_TEST

START_TEST(no_summary_of_a_run_cut_short) {
  const std::vector<mlq::ProgressSample> cut{{0, 0}, {10, 0.3}, {20, 0.4}};
  ck_assert(!mlq::summarise_run(cut));
  ck_assert(!mlq::summarise_run({}));
  const std::vector<mlq::ProgressSample> one{{10, 1}};
  ck_assert(!mlq::summarise_run(one));
}
END_TEST

START_TEST(optimistic_start) {
  ck_assert_double_eq_tol(mlq::optimistic_gain(30), 0.5, 1e-12);
  for (double bad : {nan, -1.0, 0.0, -inf}) ck_assert_double_eq(mlq::optimistic_gain(bad), 0);
  ck_assert_double_eq(mlq::optimistic_gain(inf), 1);
  ck_assert_double_gt(mlq::optimistic_gain(60), mlq::optimistic_gain(30));
}
END_TEST

}  // namespace

void add_ranking_tests(Suite* suite) {
  TCase* tests = tcase_create("ranking");
  tcase_add_test(tests, ranks_by_gain_per_core);
  tcase_add_test(tests, ties_go_by_key);
  tcase_add_test(tests, hostile_gains_count_as_none);
  tcase_add_test(tests, no_gain_no_score);
  tcase_add_test(tests, prior_of_one_run);
  tcase_add_test(tests, prior_is_concave);
  tcase_add_test(tests, prior_is_a_geometric_mean);
  tcase_add_test(tests, prior_refuses_what_is_no_summary);
  tcase_add_test(tests, summary_of_a_run);
  tcase_add_test(tests, no_summary_of_a_run_cut_short);
  tcase_add_test(tests, optimistic_start);
  suite_add_tcase(suite, tests);
}
