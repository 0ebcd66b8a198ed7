// SPDX-License-Identifier: GPL-2.0-or-later
#include <numeric>
#include <random>
#include <vector>

#include "core/allocation/settle.hpp"
#include "tests/unit/test_allocation.hpp"

namespace {

/// Each unit is worth the job's slope per second.
class Slopes final : public mlq::Objective {
 public:
  explicit Slopes(std::vector<double> slopes) : slopes_(std::move(slopes)) {}
  double value(std::size_t job, double units) const override { return slopes_[job] * units; }

 private:
  std::vector<double> slopes_;
};

struct Case {
  std::vector<double> slopes;
  std::vector<std::uint32_t> held, target;
  double cost = 5, since = 100;
  mlq::SettleOptions options{60, 0, 0.1};
  std::uint32_t capacity = 20;

  std::vector<std::uint32_t> run() const {
    std::vector<mlq::UnitRequest> jobs(slopes.size());
    std::vector<std::vector<std::uint32_t>> rows;
    std::vector<mlq::Holding> holdings;
    for (std::uint32_t units : held) rows.push_back({units});
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].key = i;
      jobs[i].max = 64;
      const bool runs = held[i] > 0;
      holdings.push_back({runs ? std::span<const std::uint32_t>(rows[i]) : std::span<const std::uint32_t>{},
                          since, runs ? cost : 0});
    }
    const std::vector<mlq::Pool> pools{{capacity, 1}};
    mlq::Allocation allocation{target, target};
    mlq::settle(pools, jobs, holdings, Slopes(slopes), options, allocation);
    return allocation.units;
  }
};

using Units = std::vector<std::uint32_t>;

START_TEST(a_move_that_does_not_pay_is_not_made) {
  // 2 units more at slope 1.05 instead of 1: the gain of 6 over a minute does not cover two pauses.
  ck_assert((Case{{1.05, 1}, {10, 10}, {12, 8}}.run()) == (Units{10, 10}));
}
END_TEST

START_TEST(a_move_that_pays_is_made) {
  ck_assert((Case{{5, 1}, {10, 10}, {19, 1}}.run()) == (Units{19, 1}));
}
END_TEST

START_TEST(free_moves_are_taken_as_they_come) {
  Case free{{1.05, 1}, {10, 10}, {12, 8}};
  free.cost = 0;
  ck_assert(free.run() == (Units{12, 8}));
}
END_TEST

START_TEST(cost_longer_than_the_horizon_stops_all) {
  Case slow{{5, 1}, {10, 10}, {19, 1}};
  slow.cost = 90;
  ck_assert(slow.run() == (Units{10, 10}));
}
END_TEST

START_TEST(dwell_holds_but_gives_way_to_a_start) {
  Case young{{5, 1, 1}, {10, 10, 0}, {18, 1, 1}};
  young.options.dwell = 200;
  const Units units = young.run();
  ck_assert_uint_ge(units[2], 1);
  ck_assert_uint_eq(units[0], 10);
  ck_assert_uint_eq(units[0] + units[1] + units[2], 20);
}
END_TEST

START_TEST(lost_nodes_force_a_shrink) {
  Case smaller{{5, 1}, {10, 10}, {9, 1}};
  smaller.capacity = 10;
  ck_assert(smaller.run() == (Units{9, 1}));
}
END_TEST

START_TEST(nobody_shrinks_for_more_than_is_needed) {
  // The newcomer needs 2 of the 9 units that the second job was to give up; as that one pays for its move, it
  // keeps the rest.
  const Units units = Case{{1, 1, 9}, {10, 10, 0}, {10, 1, 2}}.run();
  ck_assert_uint_eq(units[0] + units[1] + units[2], 20);
  ck_assert_uint_eq(units[0], 10);
}
END_TEST

START_TEST(never_over_capacity) {
  std::mt19937 random(9);
  const auto number = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    Case drawn;
    drawn.cost = number(0, 20);
    drawn.since = number(0, 100);
    drawn.options.dwell = number(0, 1) * 50;
    std::uint32_t held = 0, target = 0;
    for (std::uint32_t i = number(1, 5); i > 0; --i) {
      drawn.slopes.push_back(number(0, 10));
      drawn.held.push_back(number(0, 6));
      drawn.target.push_back(number(1, 6));
      held += drawn.held.back(), target += drawn.target.back();
    }
    drawn.capacity = target + number(0, 3);  // what is held may be more: nodes were lost
    const Units units = drawn.run();
    ck_assert_uint_le(std::accumulate(units.begin(), units.end(), 0U), drawn.capacity);
    for (std::uint32_t job : units) ck_assert_uint_ge(job, 1);
  }
}
END_TEST

}  // namespace

void add_settle_tests(Suite* suite) {
  TCase* tests = tcase_create("settle");
  tcase_add_test(tests, a_move_that_does_not_pay_is_not_made);
  tcase_add_test(tests, a_move_that_pays_is_made);
  tcase_add_test(tests, free_moves_are_taken_as_they_come);
  tcase_add_test(tests, cost_longer_than_the_horizon_stops_all);
  tcase_add_test(tests, dwell_holds_but_gives_way_to_a_start);
  tcase_add_test(tests, lost_nodes_force_a_shrink);
  tcase_add_test(tests, nobody_shrinks_for_more_than_is_needed);
  tcase_add_test(tests, never_over_capacity);
  suite_add_tcase(suite, tests);
}
