// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/outlook.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "core/quality/curve.hpp"
#include "tests/unit/test_allocation.hpp"

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

START_TEST(two_point_forecast) {
  mlq::TwoPointForecast forecast;
  ck_assert_double_eq(forecast.gain(4, 3), 0);
  forecast.add(8, 100);  // loads data, not counted
  forecast.add(4, 2);
  forecast.add(2, 4);
  ck_assert_double_eq_tol(forecast.work(), 3, 1e-12);
  // 4 cores, 3 s, 3 core-seconds each: 4 iterations: 2 -> 0.125; the largest drop was 4.
  ck_assert_double_eq_tol(forecast.gain(4, 3), (2 - 0.125) / 4, 1e-12);
  forecast.add(std::nan(""), 1);
  ck_assert_uint_eq(forecast.losses(), 3);
  forecast.add(3, 3);
  ck_assert_double_lt(forecast.gain(4, 3), 0);
}
END_TEST

START_TEST(gain_table) {
  const mlq::GainTable exponential([](double n) { return -std::expm1(-0.1 * n); });
  ck_assert_double_eq(exponential(0), 0);
  for (double n : {0.25, 1.0, 8.0, 64.0})
    ck_assert_double_eq_tol(exponential(n), -std::expm1(-0.1 * n), 1e-6);
  double before = 0, slope = infinite;
  for (double n = 1; n < 100; ++n) {
    ck_assert_double_le(exponential(n) - before, slope + 1e-6);
    slope = exponential(n) - before;
    before = exponential(n);
  }
  ck_assert_double_le(exponential(1e30), 1);
  const mlq::GainTable broken([](double n) { return n > 4 ? std::nan("") : 2 * n; });
  ck_assert_double_le(broken(1000), 1);
  ck_assert_double_ge(broken(1000), broken(4));
}
END_TEST

START_TEST(outlook_follows_a_curve) {
  mlq::LossCurve curve;
  mlq::OutlookTracker tracker;
  mlq::OutlookOptions options;
  options.iterations = 200;
  mlq::Outlook outlook;
  for (int k = 1; k <= 150; ++k) {
    curve.add({static_cast<double>(k), 1 + 2 * std::exp(-0.05 * k), 10.0 * k, 1});
    curve.refit();
    outlook = tracker.update(curve, k, options);
    if (k == 40) {  // 86 % reached; 95 % comes at iteration 60
      ck_assert_double_gt(outlook.to_target, 3);
      ck_assert_double_lt(outlook.to_target, 60);
      ck_assert_double_eq_tol(outlook.to_end, 160, 1e-9);
    }
  }
  ck_assert(outlook.known);
  ck_assert_double_eq(outlook.to_target, 0);
  ck_assert_double_gt(outlook.fraction, 0.95);
  for (int k = 151; k < 156; ++k) curve.add({static_cast<double>(k), std::nan(""), 10.0 * k, 1});
  curve.refit();
  ck_assert_double_eq(tracker.update(curve, 155, options).to_target, 0);
}
END_TEST

double unit_normal(std::mt19937& random) {  // the same on every system
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random() / 4294967296.0;
  return sum;
}

// Curves that have lain at their floor for long, in noise of up to 8 % of their reduction: their lowest
// report lies far below the floor.
START_TEST(noise_does_not_keep_a_job_short_of_its_target) {
  for (double noise : {0.0, 0.01, 0.03, 0.05, 0.08}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      std::mt19937 random(seed);
      mlq::LossCurve curve;
      mlq::OutlookTracker tracker;
      int reached = 0;
      double to_target = 0;
      for (int k = 1; k <= 200; ++k) {
        const double loss = 9 + std::exp(-0.2 * k) + noise * unit_normal(random);
        curve.add({static_cast<double>(k), loss, 10.0 * k, 1});
        curve.refit();
        to_target = tracker.update(curve, k, {}).to_target;
        reached += to_target == 0;
        if (k <= 12) ck_assert_double_gt(to_target, 0);  // 95 % comes at iteration 15
      }
      ck_assert_msg(reached >= 100 && to_target == 0, "noise %g, seed %u: reached in %d of 200, %g to go",
                    noise, seed, reached, to_target);
    }
  }
}
END_TEST

double decay(int k) {
  return 1 + std::exp(-0.05 * k);
}
double slow(int k) {  // its floor is seen ever lower
  return std::pow(k, -0.2);
}

// Largest change of the fraction from one report to the next, as it is found and as it is forecast.
std::pair<double, double> largest_jumps(double (*loss)(int), double noise) {
  std::mt19937 random(1);
  mlq::LossCurve curve;
  mlq::OutlookTracker tracker;
  double jump = 0, jump_forecast = 0, fraction = 0, forecast = 0;
  for (int k = 1; k <= 200; ++k) {
    curve.add({static_cast<double>(k), loss(k) * (1 + noise * unit_normal(random)), 10.0 * k, 1});
    curve.refit();
    const double behind = curve.fraction_reached(), now = behind / (behind + curve.gain(1e6));
    const double found = tracker.update(curve, k, {}).fraction;
    if (k > 30) {
      jump = std::max(jump, std::abs(found - fraction));
      jump_forecast = std::max(jump_forecast, std::abs(now - forecast));
    }
    fraction = found, forecast = now;
  }
  return {jump, jump_forecast};
}

START_TEST(the_fraction_does_not_jump_with_the_forecasts) {
  for (double noise : {0.001, 0.005, 0.02}) {
    const auto [jump, forecast] = largest_jumps(slow, noise);
    ck_assert_msg(forecast > 0.1, "noise %g: a jump of %g tests nothing", noise, forecast);
    ck_assert_msg(jump < 0.4 * forecast, "noise %g: %g, the forecasts' %g", noise, jump, forecast);
  }
}
END_TEST

// What is steady does not lag behind either: where the floor is known the newest is the best.
START_TEST(the_fraction_follows_where_the_floor_is_known) {
  mlq::LossCurve curve;
  mlq::OutlookTracker tracker;
  for (int k = 1; k <= 120; ++k) {
    curve.add({static_cast<double>(k), decay(k), 10.0 * k, 1});
    curve.refit();
    const double fraction = tracker.update(curve, k, {}).fraction;
    const double truth = (decay(1) - decay(k)) / (decay(1) - 1);
    if (k >= 50) ck_assert_double_eq_tol(fraction, truth, 0.03);
  }
}
END_TEST

// A curve that would fall on for ever reaches by its end what it can.
START_TEST(what_can_be_reached_is_reached_by_the_end) {
  mlq::LossCurve one, other;
  mlq::OutlookTracker with_end, without;
  mlq::OutlookOptions stated;
  stated.iterations = 100;
  mlq::Outlook told, untold;
  for (int k = 1; k <= 90; ++k) {
    for (mlq::LossCurve* curve : {&one, &other}) {
      curve->add({static_cast<double>(k), slow(k), 10.0 * k, 1});
      curve->refit();
    }
    told = with_end.update(one, k, stated);
    untold = without.update(other, k, {});
  }
  ck_assert_double_eq_tol(told.fraction, (1 - slow(90)) / (1 - slow(100)), 0.03);
  ck_assert_double_lt(untold.fraction, told.fraction - 0.1);
}
END_TEST

// A run that goes on from a checkpoint counts on; what it shows counts from where it began.
START_TEST(a_run_that_counts_on_is_confirmed_as_soon) {
  for (double before : {0.0, 50000.0}) {
    mlq::LossCurve curve;
    mlq::OutlookTracker tracker;
    double reached_at = 0;
    for (int k = 1; k <= 150 && reached_at == 0; ++k) {
      curve.add({before + k, decay(k), 10.0 * k, 1});
      curve.refit();
      if (tracker.update(curve, before + k, {}).to_target == 0) reached_at = k;
    }
    ck_assert_double_ge(reached_at, 60);  // 95 %
    ck_assert_double_le(reached_at, 100);
  }
}
END_TEST

START_TEST(an_own_target_is_what_counts) {
  mlq::CurveOptions wanted;
  wanted.has_target_loss = true;
  wanted.target_loss = 0.5;  // the curve ends at 1: it won't get there
  mlq::LossCurve curve(wanted);
  mlq::OutlookTracker tracker;
  mlq::OutlookOptions options;
  options.own_target = true;
  mlq::Outlook outlook;
  for (int k = 1; k <= 100; ++k) {
    curve.add({static_cast<double>(k), 1 + std::exp(-0.1 * k), 10.0 * k, 1});
    curve.refit();
    outlook = tracker.update(curve, k, options);
  }
  ck_assert_double_lt(outlook.fraction, 0.7);
  ck_assert_double_gt(outlook.to_target, 0);
}
END_TEST

// No floor is guessed, so nothing is to be confirmed.
START_TEST(an_own_target_is_reached_when_the_curve_is_there) {
  mlq::CurveOptions wanted;
  wanted.has_target_loss = true;
  wanted.target_loss = 1.1;  // at iteration 47
  mlq::LossCurve curve(wanted);
  mlq::OutlookTracker tracker;
  mlq::OutlookOptions options;
  options.own_target = true;
  options.target_fraction = 1;
  const auto report = [&](int k, double loss) {
    curve.add({static_cast<double>(k), loss, 10.0 * k, 1});
    curve.refit();
    return tracker.update(curve, k, options).to_target;
  };
  for (int k = 1; k <= 60; ++k) {
    const double to_target = report(k, decay(k));
    if (k < 45) ck_assert_double_gt(to_target, 0);
    if (k == 35) ck_assert_double_eq_tol(to_target, 12, 3);
    if (k > 49) ck_assert_double_eq(to_target, 0);
  }
  double to_target = 0;
  for (int k = 61; k <= 90; ++k) to_target = report(k, 1.3);
  ck_assert_double_gt(to_target, 0);  // it went up again
}
END_TEST

START_TEST(iterations_left_by_what_is_known) {
  mlq::OutlookOptions options;
  ck_assert_double_eq(mlq::iterations_left(30, options), options.unknown_left);
  options.expected_iterations = 80;
  ck_assert_double_eq(mlq::iterations_left(30, options), 50);
  options.iterations = 40;
  ck_assert_double_eq(mlq::iterations_left(30, options), 10);
  ck_assert_double_eq(mlq::iterations_left(90, options), options.unknown_left);
  options.iterations = infinite;
  ck_assert_double_eq(mlq::iterations_left(std::nan(""), options), 80);
}
END_TEST

}  // namespace

void add_outlook_tests(Suite* suite) {
  TCase* tests = tcase_create("outlook");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, two_point_forecast);
  tcase_add_test(tests, gain_table);
  tcase_add_test(tests, outlook_follows_a_curve);
  tcase_add_test(tests, noise_does_not_keep_a_job_short_of_its_target);
  tcase_add_test(tests, the_fraction_does_not_jump_with_the_forecasts);
  tcase_add_test(tests, the_fraction_follows_where_the_floor_is_known);
  tcase_add_test(tests, what_can_be_reached_is_reached_by_the_end);
  tcase_add_test(tests, a_run_that_counts_on_is_confirmed_as_soon);
  tcase_add_test(tests, an_own_target_is_what_counts);
  tcase_add_test(tests, an_own_target_is_reached_when_the_curve_is_there);
  tcase_add_test(tests, iterations_left_by_what_is_known);
  suite_add_tcase(suite, tests);
}
