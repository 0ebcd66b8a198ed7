// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/allocation/policy.hpp"
#include "core/quality/curve.hpp"
#include "core/throughput/iteration_time.hpp"
#include "tests/unit/test_allocation.hpp"

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Jobs of linear scaling under one pool; outlooks as given.
struct Scene {
  explicit Scene(std::uint32_t cores) : pools{{cores, 1}} {}
  mlq::JobView& add(double work, double to_target, double to_end, std::uint32_t max = 64) {
    outlooks.reserve(64), forecasts.reserve(64), rows.reserve(64);
    mlq::Outlook outlook;
    outlook.known = true;
    outlook.fraction = to_target > 0 ? 0.5 : 0.97;
    outlook.to_target = to_target;
    outlook.to_end = to_end;
    outlooks.push_back(outlook);
    forecasts.emplace_back();
    mlq::JobView job;
    job.request.key = jobs.size() + 1;
    job.request.max = max;
    job.rate = job.true_rate = {0, work, 0};
    job.outlook = job.truth = &outlooks.back();
    job.recent = &forecasts.back();
    jobs.push_back(job);
    return jobs.back();
  }
  void hold(std::size_t job, std::uint32_t units, double move_cost, double since = 1e6) {
    rows.push_back({units});
    jobs[job].held = {rows.back(), since, move_cost};
  }
  std::vector<std::uint32_t> decide(const char* policy, const mlq::PolicyOptions& options = {}) {
    return mlq::make_policy(policy, options)->decide({1000, 3, pools, jobs, {}}).units;
  }
  std::vector<mlq::Pool> pools;
  std::vector<mlq::Outlook> outlooks;
  std::vector<mlq::TwoPointForecast> forecasts;
  std::vector<std::vector<std::uint32_t>> rows;
  std::vector<mlq::JobView> jobs;
};

std::uint32_t sum(const std::vector<std::uint32_t>& units) {
  return std::accumulate(units.begin(), units.end(), 0U);
}

START_TEST(every_policy_uses_all_and_keeps_bounds) {
  for (std::string_view name : mlq::policy_names()) {
    Scene scene(100);
    for (int i = 0; i < 7; ++i) {
      scene.add(1 + i, i % 2 ? 10 + i : 0, 50 + i, 30).request.min = 2;
      for (double loss : {1.0, 0.5}) scene.forecasts.back().add(loss, 1 + i);
    }
    const auto units = scene.decide(std::string(name).c_str());
    ck_assert_msg(sum(units) == 100, "%s gives %u of 100", std::string(name).c_str(), sum(units));
    for (std::uint32_t held : units) {
      ck_assert_uint_ge(held, 2);
      ck_assert_uint_le(held, 30);
    }
    ck_assert(units == scene.decide(std::string(name).c_str()));
    ck_assert(mlq::make_policy(name)->name() == name);
  }
  ck_assert(mlq::make_policy("slag") == nullptr);
}
END_TEST

START_TEST(policies_survive_empty_and_hostile_views) {
  const double nan = std::nan("");
  for (std::string_view name : mlq::policy_names()) {
    Scene empty(10);
    ck_assert(empty.decide(std::string(name).c_str()).empty());
    Scene scene(10);
    for (double bad : {nan, infinite, -1.0, 0.0}) {
      mlq::JobView& job = scene.add(bad, bad, bad, 4);
      job.arrival = job.attained = job.held.since_change = job.held.move_cost = bad;
    }
    scene.jobs[0].outlook = scene.jobs[0].truth = nullptr;
    scene.jobs[0].recent = nullptr;
    ck_assert_uint_le(sum(scene.decide(std::string(name).c_str())), 10);
  }
}
END_TEST

START_TEST(quality_serves_the_shortest_way_to_target_first) {
  Scene scene(70);
  scene.add(1, 50, 100);  // 50 core-seconds to the target
  scene.add(1, 20, 100);  // 20
  scene.add(4, 10, 100);  // 40
  scene.add(1, 0, 10);    // reached; ends soon
  const auto units = scene.decide("mlq");
  ck_assert_uint_eq(units[1], 64);
  ck_assert_uint_eq(units[2], 4);
  ck_assert_uint_eq(units[0], 1);
  ck_assert_uint_eq(units[3], 1);
}
END_TEST

START_TEST(a_job_about_to_end_is_finished) {
  Scene scene(66);
  scene.add(1, 200, 300);
  scene.add(1, 0, 1);
  mlq::PolicyOptions options;
  options.tail = 0.1;
  ck_assert_uint_eq(scene.decide("mlq", options)[1], 64);
  options.tail = 0;
  ck_assert_uint_eq(scene.decide("mlq", options)[1], 2);
}
END_TEST

START_TEST(older_jobs_go_first_in_the_tail) {
  Scene scene(66);
  scene.add(1, 0, 100).arrival = 900;
  scene.add(1, 0, 100).arrival = 100;
  const auto units = scene.decide("mlq");
  ck_assert_uint_eq(units[1], 64);
  ck_assert_uint_eq(units[0], 2);
}
END_TEST

START_TEST(scaling_that_flattens_spreads_the_cores) {
  Scene scene(64);
  scene.add(1, 10, 100).rate = {0.05, 1, 0};
  scene.add(1, 20, 100).rate = {0.05, 1, 0};
  const auto units = scene.decide("mlq");
  ck_assert_uint_gt(units[0], units[1]);
  ck_assert_uint_ge(units[1], 20);
  Scene capped(64);
  capped.add(1, 10, 100).rate = {0, 1, 0.01};  // more than 10 cores slow it down
  ck_assert_uint_eq(capped.decide("mlq")[0], 10);
}
END_TEST

START_TEST(new_jobs_get_a_bounded_grant) {
  Scene scene(100);
  for (int i = 0; i < 3; ++i) scene.add(1, 20, 100);
  for (int i = 0; i < 2; ++i) {
    mlq::JobView& job = scene.add(0, 20, 100);
    job.outlook = nullptr;
    job.arrival = 995;
  }
  mlq::PolicyOptions options;
  options.explore_share = 0.2;
  auto units = scene.decide("mlq", options);
  ck_assert_uint_eq(units[3] + units[4], 22);         // a fifth of 100 above their minima
  scene.jobs[3].arrival = scene.jobs[4].arrival = 0;  // silent for too long
  units = scene.decide("mlq", options);
  ck_assert_uint_eq(units[3] + units[4], 2);
}
END_TEST

START_TEST(slaq_follows_its_two_point_forecast) {
  Scene scene(20);
  scene.add(1, 10, 100);
  scene.add(1, 10, 100);
  scene.add(1, 10, 100);
  for (double loss : {1.0, 0.5, 0.25}) scene.forecasts[0].add(loss, 3);   // halves
  for (double loss : {1.0, 0.5, 0.499}) scene.forecasts[1].add(loss, 3);  // nearly done
  scene.forecasts[2].add(1, 3);  // new: floor(C/J), out of the auction
  const auto units = scene.decide("slaq");
  // The 8th core of the first is worth 0.25 / 2^7, less than one of the second, which always is worth 0.002.
  ck_assert(units == (std::vector<std::uint32_t>{7, 7, 6}));
}
END_TEST

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

START_TEST(maxmin_raises_the_worst) {
  Scene scene(20);
  for (double fraction : {0.2, 0.8}) {
    scene.add(3, 10, 100);
    mlq::Outlook& outlook = scene.outlooks.back();
    outlook.fraction = fraction;
    outlook.gain = mlq::GainTable([&](double n) { return (1 - fraction) * -std::expm1(-0.02 * n); });
  }
  const auto units = scene.decide("maxmin");
  ck_assert_uint_eq(units[0], 19);
}
END_TEST

START_TEST(baselines_order_as_they_say) {
  Scene scene(66);
  scene.add(1, 10, 100).arrival = 5;
  scene.jobs[0].attained = 1000;
  scene.add(1, 10, 50).arrival = 9;
  scene.jobs[1].attained = 10;
  scene.add(1, 10, 200).arrival = 1;
  scene.jobs[2].attained = 100;
  ck_assert_uint_eq(scene.decide("fifo")[2], 64);
  ck_assert_uint_eq(scene.decide("las")[1], 64);
  ck_assert_uint_eq(scene.decide("srtf")[1], 64);
  ck_assert(scene.decide("fair") == (std::vector<std::uint32_t>{22, 22, 22}));
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

START_TEST(a_job_takes_less_than_two_kib) {
  // Beside its history and fit: what is kept for it, and what one decision needs.
  const std::size_t kept = sizeof(mlq::IterationTime) + sizeof(mlq::OutlookTracker) + sizeof(mlq::Outlook);
  const std::size_t deciding = sizeof(mlq::JobView) + sizeof(mlq::UnitRequest) + sizeof(mlq::Holding) + 128;
  ck_assert_uint_le(kept + deciding, 2048);
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

void add_policy_tests(Suite* suite) {
  TCase* tests = tcase_create("policy");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, every_policy_uses_all_and_keeps_bounds);
  tcase_add_test(tests, policies_survive_empty_and_hostile_views);
  tcase_add_test(tests, quality_serves_the_shortest_way_to_target_first);
  tcase_add_test(tests, a_job_about_to_end_is_finished);
  tcase_add_test(tests, older_jobs_go_first_in_the_tail);
  tcase_add_test(tests, scaling_that_flattens_spreads_the_cores);
  tcase_add_test(tests, new_jobs_get_a_bounded_grant);
  tcase_add_test(tests, slaq_follows_its_two_point_forecast);
  tcase_add_test(tests, two_point_forecast);
  tcase_add_test(tests, maxmin_raises_the_worst);
  tcase_add_test(tests, baselines_order_as_they_say);
  tcase_add_test(tests, gain_table);
  tcase_add_test(tests, outlook_follows_a_curve);
  tcase_add_test(tests, a_job_takes_less_than_two_kib);
  tcase_add_test(tests, iterations_left_by_what_is_known);
  suite_add_tcase(suite, tests);
}
