// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/allocation/fair_clock.hpp"
#include "core/allocation/policy.hpp"
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
  scene.add(1, 0, 50);    // reached; ends in 50
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

// Where nobody knows the ends, those of large jobs are not put off as long as where they are known.
START_TEST(age_counts_more_where_the_end_is_a_guess) {
  for (bool known : {true, false}) {
    Scene scene(66);
    scene.add(1, 0, 100).arrival = 900;
    scene.add(2, 0, 100).arrival = 100;
    for (mlq::Outlook& outlook : scene.outlooks) outlook.end_known = known;
    const auto units = scene.decide("mlq");
    ck_assert_uint_eq(units[known ? 0 : 1], 64);
  }
  Scene scene(66);
  scene.add(1, 0, 100);
  scene.add(1, 0, 100);
  scene.outlooks[1].end_known = true;
  ck_assert_uint_eq(scene.decide("mlq")[1], 64);
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

// One old job against new ones that are worth more, in equal shares of 10 cores.
Scene crowd(double attained, double to_end, bool end_known) {
  Scene scene(100);
  scene.add(1, 0, to_end);
  scene.outlooks[0].end_known = end_known;
  scene.jobs[0].arrival = 0;
  scene.jobs[0].attained = attained;
  for (int i = 1; i < 10; ++i) scene.add(1, 20, 100).arrival = 1000;
  return scene;
}

START_TEST(whoever_falls_behind_equal_shares_is_overdue) {
  mlq::PolicyOptions options;
  options.slack = 0.25;
  options.grace = 1;  // the mean age, 100 s, times 10 cores
  // Equal shares did 10,000 core-seconds since. The work is what is done and left, if the end is not known at
  // most as much again as is done; 64 cores need 1.5 / 6.4 of the time of an equal share for what is left.
  ck_assert_uint_eq(crowd(6500, 1000, true).decide("mlq", options)[0], 1);   // 10,234 of 10,375
  ck_assert_uint_eq(crowd(6300, 1000, true).decide("mlq", options)[0], 20);  // 10,234 of 10,125
  ck_assert_uint_eq(crowd(100, 9000, true).decide("mlq", options)[0], 1);    // 12,109 of 12,375
  ck_assert_uint_eq(crowd(100, 9000, false).decide("mlq", options)[0], 20);  // 10,023 of 1,750
  ck_assert_uint_eq(crowd(7100, 1e9, false).decide("mlq", options)[0], 1);   // 11,664 of 19,250
  // A guess is given half as much grace again.
  ck_assert_uint_eq(crowd(3850, 3850, true).decide("mlq", options)[0], 20);  // 10,902 of 10,625
  ck_assert_uint_eq(crowd(3850, 1e9, false).decide("mlq", options)[0], 1);   // 10,902 of 11,125
  Scene small = crowd(5000, 3000, true);
  ck_assert_uint_eq(small.decide("mlq", options)[0], 1);  // 10,703 of 11,000
  small.jobs[0].request.max = 12;
  ck_assert_uint_eq(small.decide("mlq", options)[0], 12);  // 13,750 of 11,000
  options.slack = infinite;
  ck_assert_uint_eq(crowd(6300, 1000, true).decide("mlq", options)[0], 1);
  options.slack = 0;
  ck_assert_uint_eq(crowd(0, 1000, true).decide("mlq", options)[0], 1);  // what it had is not known
}
END_TEST

START_TEST(all_that_are_overdue_get_the_same) {
  Scene scene(100);
  for (int i = 0; i < 8; ++i) {
    scene.add(1, i == 0 ? 5 : 0, 1000).arrival = 0;
    scene.jobs.back().attained = i == 0 ? 1e6 : 10;
  }
  mlq::PolicyOptions options;
  options.grace = 0;
  const auto units = scene.decide("mlq", options);
  for (int i = 1; i < 8; ++i) ck_assert_uint_ge(units[i], 14);  // 100 / 7, more than the share of 12.5
}
END_TEST

START_TEST(the_fair_clock_counts_equal_shares) {
  Scene scene(120);
  for (int i = 0; i < 3; ++i) scene.add(1, 10, 100).arrival = 90;
  scene.jobs[2].request.max = 10;
  mlq::FairClock clock;
  const auto advance = [&](double now) { clock.advance({now, 3, scene.pools, scene.jobs, {}}); };
  advance(100);  // first seen at age 10: the present share since
  ck_assert_double_eq_tol(clock.service()[0], 400, 1e-9);
  ck_assert_double_eq_tol(clock.service()[2], 100, 1e-9);
  ck_assert_double_eq_tol(clock.typical_stay(), 10, 1e-9);
  scene.jobs.pop_back();
  advance(110);  // three until now, two from now on; those who run pay for the change
  ck_assert_double_eq_tol(clock.service()[0], 800, 1e-9);
  ck_assert_double_eq_tol(clock.share(), 60, 1e-9);
  scene.jobs[0].held.move_cost = 4;
  scene.add(1, 10, 100).arrival = 110;
  scene.jobs.back().request.key = 9;
  advance(120);
  advance(130);
  ck_assert_double_eq_tol(clock.service()[0], 800 + 600 + 6 * 40, 1e-9);
  ck_assert_double_eq_tol(clock.service()[1], 800 + 600 + 10 * 40, 1e-9);
  advance(130);
  ck_assert_double_eq_tol(clock.service()[1], 800 + 600 + 10 * 40, 1e-9);
  advance(50);  // time went back: anew, nobody has arrived
  ck_assert_double_eq(clock.service()[1], 0);
}
END_TEST

START_TEST(typical_stay_is_learnt_from_those_who_left) {
  mlq::FairClock clock;
  const std::vector<mlq::Pool> pools{{10, 1}};
  for (int i = 0; i < 200; ++i) {
    Scene scene(10);
    scene.add(1, 10, 100).arrival = 1000.0 * i;
    scene.jobs[0].request.key = static_cast<std::uint64_t>(i);
    clock.advance({1000.0 * i, 3, pools, scene.jobs, {}});
    if (i == 5) ck_assert_double_eq_tol(clock.typical_stay(), 1000, 1e-9);
  }
  ck_assert_double_eq_tol(clock.typical_stay(), 1000, 1e-9);
  for (int i = 0; i < 200; ++i) {
    Scene scene(10);
    scene.add(1, 10, 100).arrival = 200000 + 10.0 * i;
    scene.jobs[0].request.key = static_cast<std::uint64_t>(1000 + i);
    clock.advance({200000 + 10.0 * i, 3, pools, scene.jobs, {}});
  }
  ck_assert_double_eq_tol(clock.typical_stay(), 10, 20);
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

}  // namespace

void add_policy_tests(Suite* suite) {
  TCase* tests = tcase_create("policy");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, every_policy_uses_all_and_keeps_bounds);
  tcase_add_test(tests, policies_survive_empty_and_hostile_views);
  tcase_add_test(tests, quality_serves_the_shortest_way_to_target_first);
  tcase_add_test(tests, a_job_about_to_end_is_finished);
  tcase_add_test(tests, older_jobs_go_first_in_the_tail);
  tcase_add_test(tests, age_counts_more_where_the_end_is_a_guess);
  tcase_add_test(tests, scaling_that_flattens_spreads_the_cores);
  tcase_add_test(tests, new_jobs_get_a_bounded_grant);
  tcase_add_test(tests, whoever_falls_behind_equal_shares_is_overdue);
  tcase_add_test(tests, all_that_are_overdue_get_the_same);
  tcase_add_test(tests, the_fair_clock_counts_equal_shares);
  tcase_add_test(tests, typical_stay_is_learnt_from_those_who_left);
  tcase_add_test(tests, slaq_follows_its_two_point_forecast);
  tcase_add_test(tests, maxmin_raises_the_worst);
  tcase_add_test(tests, baselines_order_as_they_say);
  suite_add_tcase(suite, tests);
}
