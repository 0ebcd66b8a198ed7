// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/retention.hpp"

#include "tests/unit/mlqd_fixture.hpp"

using namespace mlq::mlqd;
using namespace mlq::mlqd::test;

namespace {

Reporter reporter(std::uint32_t job_id) {
  return {"c", job_id, 1000, 0, kNow};
}

int run_all(Retention& retention, double now) {
  int steps = 0;
  while (retention.step(now)) ck_assert_int_lt(++steps, 100000);
  return steps;
}

}  // namespace

START_TEST(old_jobs_go) {
  Folder folder;
  Store store(folder.file("s"));
  Retention retention(store, {.keep_seconds = 100, .max_bytes = 1 << 30, .step_rows = 10});
  tell(store, {job(1, kNow, 0, true, kNow)}, kNow);
  store.begin();
  store.set_agent(reporter(1), {0, kNow, "{}"}, kNow);
  store.commit();
  add(store, reporter(1), report("a", 0, 24), kNow);
  add(store, reporter(2), report("a", 0, 4), kNow + 60);
  ck_assert_int_eq(run_all(retention, kNow + 100), 0);
  ck_assert(retention.step(kNow + 101));
  ck_assert_int_eq(count(store, "SELECT count(*) FROM point"), 20);  // one small step
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE job_id=1"), 15);
  run_all(retention, kNow + 101);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM point"), 5);
  ck_assert_int_eq(count(store, "SELECT job_id FROM job"), 2);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM stream"), 1);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM detail"), 0);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM agent"), 0);
  ck_assert_uint_eq(retention.removed_points(), 25);
}
END_TEST

START_TEST(a_clock_that_jumps_ahead_makes_nothing_old) {
  const AgeClock clock(kNow, 50);
  const double year = 365 * 86400.0;
  ck_assert_double_eq(clock.now(kNow + 700, 750), kNow + 700);
  ck_assert_double_eq(clock.now(kNow + year, 750), kNow + 700);         // set ahead
  ck_assert_double_eq(clock.now(kNow + year, 50 + year), kNow + year);  // it has run so long
  ck_assert_double_eq(clock.now(kNow - year + 700, 750),
                      kNow - year + 700);                    // was ahead at the start, set right
  ck_assert_double_eq(clock.now(kNow - year, 50 + 599), 0);  // may still be set right

  Folder folder;
  Store store(folder.file("s"));
  Retention retention(store, {.keep_seconds = 100, .max_bytes = 1 << 30, .step_rows = 10});
  add(store, reporter(1), report("a", 0, 24), kNow);
  ck_assert_int_eq(run_all(retention, clock.now(kNow + year, 51)), 0);
  ck_assert_int_eq(run_all(retention, clock.now(kNow + year, 50 + 90)), 0);
  ck_assert_int_gt(run_all(retention, clock.now(kNow + year, 50 + 700)), 0);
}
END_TEST

START_TEST(numbers_are_never_given_twice) {
  Folder folder;
  {
    Store store(folder.file("s"));
    Retention retention(store, {.keep_seconds = 100, .max_bytes = 1 << 30, .step_rows = 1000});
    add(store, reporter(1), report("a", 0, 9));
    run_all(retention, kNow + 1000);
    ck_assert_int_eq(count(store, "SELECT count(*) FROM point"), 0);
  }
  Store store(folder.file("s"));
  add(store, reporter(2), report("a", 0, 0));
  ck_assert_int_eq(count(store, "SELECT seq FROM point"), 11);
}
END_TEST

START_TEST(stale_families_go) {
  Folder folder;
  Store store(folder.file("s"));
  Retention retention(store, {.keep_seconds = 100, .max_bytes = 1 << 30, .step_rows = 1});
  store.begin();
  store.add_cycle({"c", kNow, "{}", {}, {{"f", "{}"}, {"g", "{}"}}}, kNow);
  store.add_cycle({"c", kNow, "{}", {}, {{"g", "{}"}}}, kNow + 50);
  store.commit();
  run_all(retention, kNow + 120);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM family WHERE name='g'"), 1);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM family"), 1);
}
END_TEST

START_TEST(size_takes_ended_jobs_first) {
  Folder folder;
  Store store(folder.file("s"));
  Retention retention(store, {.keep_seconds = 1e9, .max_bytes = 1 << 20, .step_rows = 2000});
  tell(store, {job(1, kNow, 0, true, kNow), job(2, kNow, 0, true, kNow), job(3, kNow)}, kNow);
  add(store, reporter(1), report("a", 0, 24999), kNow + 2);
  add(store, reporter(2), report("a", 0, 24999), kNow + 1);  // longest untouched
  add(store, reporter(3), report("a", 0, 999), kNow);
  run_all(retention, kNow + 10);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job WHERE job_id=2"), 0);
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE job_id=1"), 25000);
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE job_id=3"), 1000);
}
END_TEST

START_TEST(size_thins_the_longest_curve_of_those_that_run) {
  Folder folder;
  Store store(folder.file("s"));
  Retention retention(store, {.keep_seconds = 1e9, .max_bytes = 1 << 20, .step_rows = 500});
  tell(store, {job(1, kNow), job(2, kNow)}, kNow);
  add(store, reporter(1), report("a", 0, 49999), kNow);
  add(store, reporter(2), report("a", 0, 499), kNow);
  run_all(retention, kNow + 10);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 2);
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE job_id=2"), 500);
  const std::int64_t left =
      count(store, "SELECT count(*) FROM point WHERE job=(SELECT id FROM job WHERE job_id=1)");
  ck_assert_int_lt(left, 32000);
  ck_assert_int_gt(left, 2000);
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE job_id=1"), left);
  ck_assert_int_eq(
      count(store, "SELECT min(iteration) FROM point WHERE job=(SELECT id FROM job WHERE job_id=1)"), 0);
  // the newest ones are all there
  ck_assert_int_eq(count(store,
                         "SELECT count(*) FROM point WHERE iteration>=48000 AND "
                         "job=(SELECT id FROM job WHERE job_id=1)"),
                   2000);
  // and what was thinned is not taken in again
  ck_assert_uint_eq(add(store, reporter(1), report("a", 0, 49999), kNow).stored, 0);
}
END_TEST

START_TEST(file_shrinks) {
  Folder folder;
  Store store(folder.file("s"));
  Retention retention(store, {.keep_seconds = 100, .max_bytes = 1 << 30, .step_rows = 20000});
  for (int i = 0; i < 20; ++i) add(store, reporter(1), report("a", i * 50000, i * 50000 + 49999), kNow);
  const std::int64_t before = count(store, "PRAGMA page_count");
  ck_assert_int_gt(before, 6000);
  run_all(retention, kNow + 1000);
  ck_assert_int_lt(count(store, "PRAGMA page_count"), before - 1000);
}
END_TEST

int main() {
  Suite* suite = suite_create("mlqd retention");
  TCase* cases = tcase_create("retention");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, old_jobs_go);
  tcase_add_test(cases, a_clock_that_jumps_ahead_makes_nothing_old);
  tcase_add_test(cases, numbers_are_never_given_twice);
  tcase_add_test(cases, stale_families_go);
  tcase_add_test(cases, size_takes_ended_jobs_first);
  tcase_add_test(cases, size_thins_the_longest_curve_of_those_that_run);
  tcase_add_test(cases, file_shrinks);
  suite_add_tcase(suite, cases);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
