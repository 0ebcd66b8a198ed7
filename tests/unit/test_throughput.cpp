// SPDX-License-Identifier: GPL-2.0-or-later
#include <check.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "core/throughput/iteration_time.hpp"
#include "core/throughput/mixed_rate.hpp"

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct Truth {
  double alpha, work, gamma;
  double seconds(double cores) const { return alpha + work / cores + gamma * cores; }
};

void feed(mlq::IterationTime& model, const Truth& truth, std::initializer_list<double> sizes) {
  for (double cores : sizes)
    for (int i = 0; i < 20; ++i) model.observe(cores, 5, 5 * truth.seconds(cores));
}

START_TEST(nothing_known) {
  mlq::IterationTime model;
  ck_assert(!model.known());
  ck_assert_double_eq(model.rate(4), 0);
  ck_assert(std::isinf(model.model().useful_cores()));
}
END_TEST

START_TEST(one_size_is_linear) {
  mlq::IterationTime model;
  feed(model, {0.5, 8, 0.01}, {4});
  const double work = 4 * Truth{0.5, 8, 0.01}.seconds(4);
  ck_assert_double_eq_tol(model.model().work, work, 1e-9);
  ck_assert_double_eq(model.model().alpha, 0);
  ck_assert_double_eq(model.model().gamma, 0);
  ck_assert_double_eq_tol(model.rate(8), 8 / work, 1e-9);
}
END_TEST

START_TEST(two_sizes_find_the_fixed_part) {
  mlq::IterationTime model;
  feed(model, {0.5, 8, 0}, {2, 16});
  ck_assert_double_eq_tol(model.model().alpha, 0.5, 1e-6);
  ck_assert_double_eq_tol(model.model().work, 8, 1e-6);
  ck_assert_double_eq(model.model().gamma, 0);
}
END_TEST

START_TEST(three_sizes_find_everything) {
  const Truth truth{0.2, 10, 0.02};
  mlq::IterationTime model;
  feed(model, truth, {1, 4, 16, 64});
  ck_assert_double_eq_tol(model.model().alpha, truth.alpha, 1e-3);
  ck_assert_double_eq_tol(model.model().work, truth.work, 1e-2);
  ck_assert_double_eq_tol(model.model().gamma, truth.gamma, 1e-4);
  ck_assert_double_eq_tol(model.model().useful_cores(), std::sqrt(10 / 0.02), 0.1);
  ck_assert_double_lt(model.rate(200), model.rate(22));
}
END_TEST

START_TEST(noise_does_not_invent_a_fixed_part) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.05);
  mlq::IterationTime model;
  for (int i = 0; i < 400; ++i)
    for (double cores : {1.0, 2.0, 8.0}) model.observe(cores, 1, 12 / cores * std::exp(noise(random)));
  for (double cores : {1.0, 4.0, 16.0, 32.0})
    ck_assert_double_eq_tol(model.rate(cores) * 12 / cores, 1, 0.05);
}
END_TEST

START_TEST(follows_a_job_that_slows_down) {
  mlq::IterationTime model;
  for (int i = 0; i < 200; ++i) model.observe(4, 1, 1);
  for (int i = 0; i < 300; ++i) model.observe(4, 1, 3);
  ck_assert_double_eq_tol(model.rate(4), 1.0 / 3, 0.01);
}
END_TEST

START_TEST(never_negative_parameters) {
  // Superlinear speed-up (caches): the best unbounded alpha would be negative.
  mlq::IterationTime model;
  for (double cores : {1.0, 2.0, 4.0, 8.0}) model.observe(cores, 10, 10 * 9 / std::pow(cores, 1.2));
  ck_assert_double_ge(model.model().alpha, 0);
  ck_assert_double_ge(model.model().gamma, 0);
  ck_assert_double_gt(model.model().work, 0);
}
END_TEST

START_TEST(many_sizes_do_not_overflow) {
  mlq::IterationTime model;
  for (int cores = 1; cores <= 200; ++cores) model.observe(cores, 10, 10 * (0.1 + 5.0 / cores));
  ck_assert_double_eq_tol(model.rate(200), 1 / (0.1 + 5.0 / 200), 0.05);
}
END_TEST

START_TEST(hostile_observations_are_ignored) {
  mlq::IterationTime model;
  for (double bad : {nan, inf, -inf, 0.0, -1.0, 1e-300, 1e300}) {
    model.observe(bad, 1, 1);
    model.observe(1, bad, 1);
    model.observe(1, 1, bad);
  }
  ck_assert(!model.known());
  model.observe(2, 1, 3);
  for (double bad : {nan, inf, -inf, 0.0, -1.0}) ck_assert_double_eq(model.rate(bad), 0);
  ck_assert(std::isfinite(model.rate(1e-300)));
  ck_assert(std::isfinite(model.rate(1e300)));
}
END_TEST

START_TEST(mixed_parts) {
  const std::array<mlq::MixedPart, 3> parts{{{8, 2.0}, {4, 0.5}, {0, nan}}};
  ck_assert_double_eq_tol(mlq::mixed_rate(parts, mlq::Mix::additive), 2.5, 1e-12);
  // Equal work per core: the slow part does 1/8 iteration per second and core, so 12 cores do 1.5.
  ck_assert_double_eq_tol(mlq::mixed_rate(parts, mlq::Mix::slowest_rank), 1.5, 1e-12);
  const std::array<mlq::MixedPart, 2> broken{{{8, 2.0}, {4, nan}}};
  ck_assert_double_eq_tol(mlq::mixed_rate(broken, mlq::Mix::additive), 2, 1e-12);
  ck_assert_double_eq(mlq::mixed_rate(broken, mlq::Mix::slowest_rank), 0);
  ck_assert_double_eq(mlq::mixed_rate({}, mlq::Mix::additive), 0);
}
END_TEST

}  // namespace

int main() {
  Suite* suite = suite_create("throughput");
  TCase* tests = tcase_create("throughput");
  tcase_add_test(tests, nothing_known);
  tcase_add_test(tests, one_size_is_linear);
  tcase_add_test(tests, two_sizes_find_the_fixed_part);
  tcase_add_test(tests, three_sizes_find_everything);
  tcase_add_test(tests, noise_does_not_invent_a_fixed_part);
  tcase_add_test(tests, follows_a_job_that_slows_down);
  tcase_add_test(tests, never_negative_parameters);
  tcase_add_test(tests, many_sizes_do_not_overflow);
  tcase_add_test(tests, hostile_observations_are_ignored);
  tcase_add_test(tests, mixed_parts);
  suite_add_tcase(suite, tests);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
