// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "core/allocation/allocator.hpp"
#include "core/allocation/concave_hull.hpp"
#include "tests/unit/test_allocation.hpp"

namespace {

/// Values by table, units 0..n, straight between.
class TableObjective final : public mlq::Objective {
 public:
  explicit TableObjective(std::vector<std::vector<double>> tables) : tables_(std::move(tables)) {}
  double value(std::size_t job, double units) const override {
    const auto& table = tables_[job];
    const double last = static_cast<double>(table.size() - 1);
    const double x = std::clamp(units, 0.0, last);
    const auto low = static_cast<std::size_t>(std::min(std::floor(x), last - 1));
    return table[low] + (x - static_cast<double>(low)) * (table[low + 1] - table[low]);
  }

 private:
  std::vector<std::vector<double>> tables_;
};

std::vector<double> concave_table(std::mt19937& random, std::uint32_t max) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> steps(max);
  for (double& step : steps) step = std::floor(uniform(random) * 8) / 8;  // ties are likely
  std::sort(steps.rbegin(), steps.rend());
  std::vector<double> table(1, 0);
  for (double step : steps) table.push_back(table.back() + step);
  return table;
}

std::vector<double> any_table(std::mt19937& random, std::uint32_t max) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> table(1, 0);
  for (std::uint32_t i = 0; i < max; ++i)
    table.push_back(table.back() + (uniform(random) < 0.5 ? 0 : uniform(random)));
  return table;
}

std::vector<double> hull_table(const std::vector<double>& table, std::uint32_t min, std::uint32_t max) {
  std::vector<mlq::HullPoint> points;
  for (std::uint32_t i = min; i <= max; ++i) points.push_back({static_cast<double>(i), table[i]});
  points.resize(mlq::concave_hull(points));
  std::vector<double> hull(table);
  for (std::size_t i = 1; i < points.size(); ++i)
    for (double x = points[i - 1].x; x <= points[i].x; ++x)
      hull[static_cast<std::size_t>(x)] = points[i - 1].y + (points[i].y - points[i - 1].y) *
                                                                (x - points[i - 1].x) /
                                                                (points[i].x - points[i - 1].x);
  return hull;
}

double best_sum(const std::vector<mlq::UnitRequest>& jobs, const std::vector<std::vector<double>>& tables,
                std::size_t job, std::uint32_t left) {
  if (job == jobs.size()) return 0;
  double best = -1e300;
  for (std::uint32_t units = jobs[job].min; units <= jobs[job].max && units * jobs[job].unit <= left; ++units)
    best =
        std::max(best, tables[job][units] + best_sum(jobs, tables, job + 1, left - units * jobs[job].unit));
  return best;
}

struct Instance {
  std::vector<mlq::UnitRequest> jobs;
  std::vector<std::vector<double>> tables;
  std::uint32_t capacity = 0;
};

template <typename MakeTable>
Instance draw(std::mt19937& random, const MakeTable& make) {
  const auto number = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  Instance instance;
  const std::uint32_t count = number(1, 4);
  std::uint32_t minima = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    mlq::UnitRequest job;
    job.key = number(0, 1000);
    job.min = number(1, 2);
    job.max = job.min + number(0, 6);
    minima += job.min;
    instance.jobs.push_back(job);
    instance.tables.push_back(make(random, job.max));
  }
  instance.capacity = minima + number(0, 10);
  return instance;
}

mlq::Allocation allocate(const Instance& instance, const std::vector<mlq::Pool>& pools,
                         const mlq::AllocatorOptions& options = {}) {
  mlq::Allocator allocator;
  mlq::Allocation result;
  allocator.run(pools, instance.jobs, TableObjective(instance.tables), options, result);
  return result;
}

START_TEST(equals_brute_force_when_concave) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    const Instance instance = draw(random, concave_table);
    const mlq::Allocation result = allocate(instance, {{instance.capacity, 1}});
    double sum = 0;
    std::uint32_t used = 0, usable = 0;
    for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
      ck_assert_uint_ge(result.units[i], instance.jobs[i].min);
      ck_assert_uint_le(result.units[i], instance.jobs[i].max);
      used += result.units[i];
      usable += instance.jobs[i].max;
      sum += instance.tables[i][result.units[i]];
    }
    ck_assert_uint_eq(used, std::min(usable, instance.capacity));
    ck_assert_double_eq_tol(sum, best_sum(instance.jobs, instance.tables, 0, instance.capacity), 1e-9);
  }
}
END_TEST

START_TEST(equals_brute_force_on_hulls) {
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    Instance instance = draw(random, any_table);
    for (auto& job : instance.jobs) job.concave = false;
    const mlq::Allocation result = allocate(instance, {{instance.capacity, 1}});
    std::vector<std::vector<double>> hulls;
    for (std::size_t i = 0; i < instance.jobs.size(); ++i)
      hulls.push_back(hull_table(instance.tables[i], instance.jobs[i].min, instance.jobs[i].max));
    double sum = 0;
    for (std::size_t i = 0; i < instance.jobs.size(); ++i) sum += hulls[i][result.units[i]];
    ck_assert_double_eq_tol(sum, best_sum(instance.jobs, hulls, 0, instance.capacity), 1e-9);
  }
}
END_TEST

START_TEST(same_whatever_the_order_of_jobs) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Instance instance = draw(random, concave_table);
    for (std::size_t i = 0; i < instance.jobs.size(); ++i) instance.jobs[i].key = 10 + i;
    const mlq::Allocation once = allocate(instance, {{instance.capacity, 1}});
    Instance reversed = instance;
    std::reverse(reversed.jobs.begin(), reversed.jobs.end());
    std::reverse(reversed.tables.begin(), reversed.tables.end());
    mlq::Allocation other = allocate(reversed, {{instance.capacity, 1}});
    std::reverse(other.units.begin(), other.units.end());
    ck_assert(once.units == other.units);
  }
}
END_TEST

START_TEST(equal_jobs_share_and_the_lower_key_gets_the_odd_core) {
  Instance instance;
  for (std::uint64_t key : {7, 3, 5}) {
    mlq::UnitRequest job;
    job.key = key;
    job.max = 10;
    instance.jobs.push_back(job);
    instance.tables.emplace_back(11, 0.0);
    std::iota(instance.tables.back().begin(), instance.tables.back().end(), 0.0);
  }
  const mlq::Allocation result = allocate(instance, {{10, 1}});
  ck_assert_uint_eq(result.units[0], 3);
  ck_assert_uint_eq(result.units[1], 4);
  ck_assert_uint_eq(result.units[2], 3);
}
END_TEST

START_TEST(minima_that_do_not_fit_queue_by_rank) {
  Instance instance;
  for (double rank : {1.0, 3.0, 2.0, std::nan("")}) {
    mlq::UnitRequest job;
    job.key = instance.jobs.size();
    job.min = 4, job.max = 8, job.rank = rank;
    instance.jobs.push_back(job);
    instance.tables.emplace_back(9, 0.0);
  }
  const mlq::Allocation result = allocate(instance, {{10, 1}});
  ck_assert_uint_eq(result.units[0], 0);
  ck_assert_uint_eq(result.units[1] + result.units[2], 10);
  ck_assert_uint_ge(result.units[2], 4);
  ck_assert_uint_eq(result.units[3], 0);
}
END_TEST

START_TEST(units_of_several_cores_and_power_of_two_sizes) {
  const std::vector<std::uint32_t> sizes{1, 2, 4, 8, 16};
  Instance instance;
  mlq::UnitRequest free;
  free.key = 1, free.max = 100, free.unit = 4;
  mlq::UnitRequest powers;
  powers.key = 2, powers.max = 16, powers.sizes = sizes;
  instance.jobs = {free, powers};
  instance.tables = {std::vector<double>(101, 0.0), std::vector<double>(17, 0.0)};
  for (int i = 0; i <= 16; ++i) instance.tables[1][i] = i;
  const mlq::Allocation result = allocate(instance, {{23, 1}});
  ck_assert_uint_eq(result.units[1], 16);  // 8 would leave too much; 16 + 4 fits, 3 cores are left over
  ck_assert_uint_eq(result.units[0], 1);
  const mlq::Allocation tight = allocate(instance, {{19, 1}});
  ck_assert_uint_eq(tight.units[1], 8);  // 16 no longer fits beside the other's minimum
  ck_assert_uint_eq(tight.units[0], 2);
}
END_TEST

START_TEST(sizes_never_break_list_or_capacity) {
  std::mt19937 random(4);
  const std::vector<std::uint32_t> sizes{1, 2, 3, 5, 8};
  for (int round = 0; round < 500; ++round) {
    Instance instance = draw(random, any_table);
    for (auto& job : instance.jobs) job.sizes = sizes, job.concave = false;
    const mlq::Allocation result = allocate(instance, {{instance.capacity, 1}});
    std::uint32_t used = 0;
    for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
      const std::uint32_t units = result.units[i];
      used += units;
      if (units == 0) continue;
      ck_assert(std::find(sizes.begin(), sizes.end(), units) != sizes.end());
      ck_assert_uint_ge(units, instance.jobs[i].min);
      ck_assert_uint_le(units, instance.jobs[i].max);
    }
    ck_assert_uint_le(used, instance.capacity);
  }
}
END_TEST

START_TEST(classes_are_kept_and_fast_cores_go_first) {
  Instance instance;
  mlq::UnitRequest steep, flat, bound;
  steep.key = 1, steep.max = 6, steep.pools = 3;
  flat.key = 2, flat.max = 6, flat.pools = 3;
  bound.key = 3, bound.max = 6, bound.pools = 2;  // may use the slow class only
  instance.jobs = {steep, flat, bound};
  for (double slope : {3.0, 1.0, 2.0}) {
    instance.tables.emplace_back();
    for (int i = 0; i <= 20; ++i) instance.tables.back().push_back(slope * i);
  }
  const mlq::Allocation result = allocate(instance, {{4, 2}, {8, 1}});
  std::uint32_t fast = 0, slow = 0;
  for (std::size_t i = 0; i < 3; ++i) fast += result.by_pool[2 * i], slow += result.by_pool[2 * i + 1];
  ck_assert_uint_eq(fast, 4);
  ck_assert_uint_eq(slow, 8);
  ck_assert_uint_eq(result.by_pool[4], 0);
  ck_assert_uint_ge(result.by_pool[0], 3);  // the steep job gets the fast cores beside minima
  ck_assert_uint_eq(result.units[0], 6);
}
END_TEST

START_TEST(slowest_rank_jobs_refuse_slow_parts) {
  Instance instance;
  mlq::UnitRequest job;
  job.key = 1, job.max = 10, job.pools = 3, job.mix = mlq::Mix::slowest_rank;
  instance.jobs = {job};
  instance.tables.emplace_back();
  for (int i = 0; i <= 40; ++i) instance.tables[0].push_back(i);
  const mlq::Allocation harm = allocate(instance, {{4, 4}, {2, 1}});
  ck_assert_uint_eq(harm.units[0], 4);  // 4 fast cores do 16; with one slow core 5 ranks do 5
  instance.jobs[0].mix = mlq::Mix::additive;
  ck_assert_uint_eq(allocate(instance, {{4, 4}, {2, 1}}).units[0], 6);
}
END_TEST

START_TEST(floors_are_bounded_by_their_share) {
  Instance instance;
  for (int i = 0; i < 4; ++i) {
    mlq::UnitRequest job;
    job.key = i, job.max = 40, job.floor = i < 2 ? 20 : 0;
    instance.jobs.push_back(job);
    instance.tables.emplace_back();
    for (int x = 0; x <= 40; ++x)
      instance.tables[i].push_back(i < 2 ? 0 : x);  // floors are worth nothing in the auction
  }
  mlq::AllocatorOptions options;
  options.floor_share = 0.25;
  const mlq::Allocation result = allocate(instance, {{40, 1}}, options);
  ck_assert_uint_eq(result.units[0], 11);  // a quarter of 40 above the minimum
  ck_assert_uint_eq(result.units[1], 1);
  ck_assert_uint_eq(result.units[2] + result.units[3], 28);
}
END_TEST

START_TEST(accounts_stay_under_their_caps) {
  const std::vector<std::uint32_t> caps{6, 100};
  Instance instance;
  for (std::uint32_t account : {0U, 0U, 1U}) {
    mlq::UnitRequest job;
    job.key = instance.jobs.size(), job.max = 40, job.account = account;
    instance.jobs.push_back(job);
    instance.tables.emplace_back();
    for (int x = 0; x <= 40; ++x) instance.tables.back().push_back(account == 0 ? 5 * x : x);
  }
  mlq::AllocatorOptions options;
  options.account_caps = caps;
  const mlq::Allocation result = allocate(instance, {{40, 1}}, options);
  ck_assert_uint_eq(result.units[0] + result.units[1], 6);
  ck_assert_uint_eq(result.units[2], 34);
}
END_TEST

START_TEST(hostile_requests_get_nothing) {
  Instance instance;
  instance.jobs.resize(4);
  instance.jobs[0].pools = 0;
  instance.jobs[1].unit = 0;
  instance.jobs[2].min = 5, instance.jobs[2].max = 4;
  instance.jobs[3].max = 4;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  instance.tables.assign(4, std::vector<double>(9, nan));
  const mlq::Allocation result = allocate(instance, {{8, 1}});
  ck_assert_uint_eq(result.units[0] + result.units[1] + result.units[2], 0);
  ck_assert_uint_eq(result.units[3], 4);
  ck_assert(allocate({}, {{8, 1}}).units.empty());
  ck_assert_uint_eq(allocate(instance, {}).units[3], 0);
}
END_TEST

START_TEST(hull_of_points) {
  std::vector<mlq::HullPoint> points{{0, 0}, {1, 0}, {2, 2}, {3, 3}, {4, 4}, {5, 4}};
  points.resize(mlq::concave_hull(points));
  ck_assert_uint_eq(points.size(), 5);
  ck_assert_double_eq(points[1].x, 2);
  ck_assert_double_eq(points[4].x, 5);
}
END_TEST

}  // namespace

void add_allocator_tests(Suite* suite) {
  TCase* tests = tcase_create("allocator");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, equals_brute_force_when_concave);
  tcase_add_test(tests, equals_brute_force_on_hulls);
  tcase_add_test(tests, same_whatever_the_order_of_jobs);
  tcase_add_test(tests, equal_jobs_share_and_the_lower_key_gets_the_odd_core);
  tcase_add_test(tests, minima_that_do_not_fit_queue_by_rank);
  tcase_add_test(tests, units_of_several_cores_and_power_of_two_sizes);
  tcase_add_test(tests, sizes_never_break_list_or_capacity);
  tcase_add_test(tests, classes_are_kept_and_fast_cores_go_first);
  tcase_add_test(tests, slowest_rank_jobs_refuse_slow_parts);
  tcase_add_test(tests, floors_are_bounded_by_their_share);
  tcase_add_test(tests, accounts_stay_under_their_caps);
  tcase_add_test(tests, hostile_requests_get_nothing);
  tcase_add_test(tests, hull_of_points);
  suite_add_tcase(suite, tests);
}
