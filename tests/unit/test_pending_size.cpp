// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmath>
#include <random>
#include <vector>

#include "core/allocation/pending_size.hpp"
#include "tests/unit/test_allocation.hpp"

namespace {

using mlq::PendingJob;
using mlq::SizeChoice;
using mlq::SizeReason;

/// Linear in units up to `useful`, linear in time: worth per unit and second.
class Linear final : public mlq::PendingValue {
 public:
  struct One {
    double worth = 1;
    std::uint32_t useful = 1000;
  };
  explicit Linear(std::vector<One> jobs) : jobs_(std::move(jobs)) {}
  double gain(std::size_t job, std::uint32_t units, double seconds) const override {
    return jobs_[job].worth * std::min(units, jobs_[job].useful) * seconds;
  }

 private:
  std::vector<One> jobs_;
};

PendingJob job(std::uint32_t min, std::uint32_t max, std::uint32_t asked, std::uint32_t room) {
  PendingJob one;
  one.min = min;
  one.max = max;
  one.asked = asked;
  one.room = room;
  return one;
}

SizeChoice size_one(const PendingJob& one, std::uint32_t idle, Linear::One value = {}) {
  return mlq::size_pending({&one, 1}, idle, Linear({value})).at(0);
}

START_TEST(an_idle_cluster_gives_all_that_is_useful) {
  SizeChoice choice = size_one(job(1, 16, 2, 32), 32);
  ck_assert_uint_eq(choice.units, 16);
  ck_assert(choice.reason == SizeReason::share);
  // more than 6 units are worth nothing to it
  choice = size_one(job(1, 16, 2, 32), 32, {1, 6});
  ck_assert_uint_eq(choice.units, 6);
}
END_TEST

START_TEST(what_is_idle_bounds_the_share) {
  SizeChoice choice = size_one(job(1, 16, 2, 5), 32);
  ck_assert_uint_eq(choice.share, 5);
  ck_assert_uint_eq(choice.units, 5);
  choice = size_one(job(1, 16, 2, 16), 7);
  ck_assert_uint_eq(choice.units, 7);
}
END_TEST

START_TEST(fewer_units_now_against_waiting) {
  // 4 of 16 fit. It has waited 50 s of a horizon of 60: 10 s on 16 are worth 160, 60 s on 4 are worth 240.
  PendingJob one = job(2, 16, 16, 4);
  one.waited = 50;
  SizeChoice choice = size_one(one, 32);
  ck_assert_uint_eq(choice.units, 4);
  ck_assert(choice.reason == SizeReason::sooner);
  // it has waited 40 s: 20 s on 16 are worth 320
  one.waited = 40;
  choice = size_one(one, 32);
  ck_assert_uint_eq(choice.units, 16);
  ck_assert(choice.reason == SizeReason::waits);
  // nobody is made to wait for more than it asks for
  one.asked = 4;
  ck_assert_uint_eq(size_one(one, 32).units, 4);
  // one that can grow while it runs has nothing to wait for
  one.asked = 16;
  one.grows = true;
  choice = size_one(one, 32);
  ck_assert_uint_eq(choice.units, 4);
  ck_assert(choice.reason == SizeReason::sooner);
}
END_TEST

START_TEST(the_asked_size_is_left_alone_within_the_margin) {
  // 20 instead of 19 units: 5.3 % more; of 21 instead of 20: 5.0 %
  ck_assert_uint_eq(size_one(job(1, 21, 20, 21), 64).units, 20);
  ck_assert_uint_gt(size_one(job(1, 20, 18, 20), 64).units, 18);
}
END_TEST

START_TEST(nothing_fits_and_nothing_is_known) {
  // the horizon passed while it waited: no size is worth anything, so none is better than what it asks for
  PendingJob one = job(2, 16, 8, 1);
  one.waited = 100;
  const SizeChoice choice = size_one(one, 32);
  ck_assert_uint_eq(choice.units, 8);
  ck_assert_uint_eq(choice.share, 0);
  ck_assert(choice.reason == SizeReason::no_room);
  // every size is worth nothing: it stays as it is
  ck_assert_uint_eq(size_one(job(1, 8, 3, 8), 8, {0, 8}).units, 3);
}
END_TEST

START_TEST(what_is_asked_outside_the_range_is_brought_into_it) {
  SizeChoice choice = size_one(job(4, 8, 1, 0), 0, {0, 8});
  ck_assert_uint_eq(choice.units, 4);
  ck_assert(choice.reason == SizeReason::bounds);
  choice = size_one(job(4, 8, 100, 0), 0, {0, 8});
  ck_assert_uint_eq(choice.units, 8);
}
END_TEST

START_TEST(the_rest_goes_where_a_unit_is_worth_most) {
  std::vector<PendingJob> jobs{job(1, 16, 1, 32), job(1, 16, 1, 32)};
  jobs[1].key = 1;
  std::vector<SizeChoice> choices = mlq::size_pending(jobs, 12, Linear({{1, 100}, {3, 8}}));
  ck_assert_uint_eq(choices[1].units, 8);  // beyond it nothing is won there
  ck_assert_uint_eq(choices[0].units, 4);
  // minima by rank: only one fits
  jobs[0].min = jobs[1].min = 10;
  jobs[0].asked = jobs[1].asked = 10;
  jobs[1].rank = 5;
  choices = mlq::size_pending(jobs, 12, Linear({{1, 100}, {3, 100}}));
  ck_assert_uint_ge(choices[1].share, 10);
  ck_assert_uint_eq(choices[0].share, 0);
}
END_TEST

START_TEST(units_of_several_cores_are_counted_in_cores) {
  PendingJob one = job(1, 8, 1, 8);
  one.unit = 4;
  ck_assert_uint_eq(size_one(one, 15).units, 3);
}
END_TEST

// Whatever the numbers: inside [min, max], shares within what is idle, and the same answer again.
START_TEST(bounds_hold_for_any_jobs) {
  std::mt19937 random(7);
  const auto upto = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % (most + 1)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<PendingJob> jobs(1 + upto(5));
    std::vector<Linear::One> values;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const std::uint32_t min = 1 + upto(20);
      jobs[j] = job(min, min + upto(2000), upto(3000), upto(100));
      jobs[j].key = j;
      jobs[j].unit = 1 + upto(3);
      jobs[j].waited = upto(200);
      jobs[j].rank = upto(3);
      values.push_back({upto(3) / 2.0, upto(40)});
    }
    const std::uint32_t idle = upto(200);
    const std::vector<SizeChoice> choices = mlq::size_pending(jobs, idle, Linear(values));
    const std::vector<SizeChoice> again = mlq::size_pending(jobs, idle, Linear(values));
    std::uint64_t cores = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      ck_assert_uint_ge(choices[j].units, jobs[j].min);
      ck_assert_uint_le(choices[j].units, jobs[j].max);
      ck_assert_uint_le(choices[j].share, jobs[j].room);
      ck_assert_uint_eq(choices[j].units, again[j].units);
      cores += std::uint64_t{choices[j].share} * jobs[j].unit;
    }
    ck_assert_uint_le(cores, idle);
  }
}
END_TEST

}  // namespace

void add_pending_size_tests(Suite* suite) {
  TCase* tcase = tcase_create("pending size");
  tcase_add_test(tcase, an_idle_cluster_gives_all_that_is_useful);
  tcase_add_test(tcase, what_is_idle_bounds_the_share);
  tcase_add_test(tcase, fewer_units_now_against_waiting);
  tcase_add_test(tcase, the_asked_size_is_left_alone_within_the_margin);
  tcase_add_test(tcase, nothing_fits_and_nothing_is_known);
  tcase_add_test(tcase, what_is_asked_outside_the_range_is_brought_into_it);
  tcase_add_test(tcase, the_rest_goes_where_a_unit_is_worth_most);
  tcase_add_test(tcase, units_of_several_cores_are_counted_in_cores);
  tcase_add_test(tcase, bounds_hold_for_any_jobs);
  suite_add_tcase(suite, tcase);
}
