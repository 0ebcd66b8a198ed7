// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmath>
#include <limits>

#include "tests/unit/mlqd_fixture.hpp"
#include "tools/mlqd/schema.hpp"

using namespace mlq::mlqd;
using namespace mlq::mlqd::test;

TCase* agent_cases();  // test_mlqd_store_agents.cpp

START_TEST(repeats_are_dropped) {
  Folder folder;
  Store store(folder.file("s"));
  Stored stored = add(store, token(), report("a", 0, 9));
  ck_assert_uint_eq(stored.stored, 10);
  stored = add(store, token(), report("a", 5, 12));  // a retry with some new ones behind
  ck_assert_uint_eq(stored.stored, 3);
  ck_assert_uint_eq(stored.dropped, 5);
  stored = add(store, token(), report("b", 0, 1));  // another process counts by itself
  ck_assert_uint_eq(stored.stored, 2);
  stored = add(store, token(), report("a", 100, 101));  // gaps are allowed
  ck_assert_uint_eq(stored.stored, 2);
  mlq::wire::Report twice = report("a", 200, 200);
  twice.points.push_back(twice.points[0]);
  ck_assert_uint_eq(add(store, token(), twice).stored, 1);
  ck_assert_uint_eq(add(store, token(), {"a", {}}).stored, 0);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM point"), 18);
  ck_assert_int_eq(count(store, "SELECT points FROM job"), 18);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 1);
}
END_TEST

START_TEST(rolled_back_is_gone) {
  Folder folder;
  Store store(folder.file("s"));
  store.begin();
  store.add_report(token(), report("a", 0, 9), kNow);
  store.rollback();
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 0);
  ck_assert_uint_eq(add(store, token(), report("a", 0, 9)).stored, 10);
  ck_assert_int_eq(count(store, "SELECT min(seq) FROM point"), 1);
}
END_TEST

START_TEST(reopened_store_goes_on) {
  Folder folder;
  std::string epoch;
  {
    Store store(folder.file("s"));
    add(store, token(), report("a", 0, 9));
    epoch = Reader(folder.file("s"), 1).epoch();
    ck_assert_uint_eq(epoch.size(), 32);
  }
  Store store(folder.file("s"));
  ck_assert_uint_eq(add(store, token(), report("a", 0, 10)).stored, 1);
  ck_assert_int_eq(count(store, "SELECT max(seq) FROM point"), 11);
  check_text(Reader(folder.file("s"), 1).epoch().c_str(), epoch.c_str());
}
END_TEST

START_TEST(provisional_entry_is_adopted) {
  Folder folder;
  Store store(folder.file("s"));
  add(store, token(kNow + 20), report("a", 0, 4));
  tell(store, {job(7, kNow)});
  add(store, token(kNow + 20), report("a", 3, 6));
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 1);
  ck_assert_int_eq(count(store, "SELECT submit FROM job"), kNow);
  ck_assert_int_eq(count(store, "SELECT points FROM job"), 7);
}
END_TEST

START_TEST(provisional_entry_of_an_older_job_is_left) {
  Folder folder;
  Store store(folder.file("s"));
  add(store, token(kNow - 1000), report("a", 0, 4));
  tell(store, {job(7, kNow)});
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 2);
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE submit>0"), 0);
}
END_TEST

START_TEST(other_users_and_clusters_are_apart) {
  Folder folder;
  Store store(folder.file("s"));
  tell(store, {job(7, kNow)});
  Reporter other = token();
  other.uid = 1001;
  add(store, other, report("a", 0, 4));
  other = token();
  other.cluster = "d";
  add(store, other, report("a", 0, 4));
  add(store, token(), report("a", 0, 4));
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 3);
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE submit>0"), 5);
}
END_TEST

START_TEST(ids_that_wrap_are_other_jobs) {
  Folder folder;
  Store store(folder.file("s"));
  const std::int64_t old = kNow - 1'000'000;
  tell(store, {job(7, old)});
  add(store, token(old + 5), report("a", 0, 9));
  tell(store, {job(7, old, 0, true, old + 100)});
  add(store, token(old + 5), report("a", 10, 10));  // the last report comes late
  // the new job reports before the scheduler tells of it, with the same stream name
  add(store, token(kNow + 5), report("a", 0, 1));
  tell(store, {job(7, kNow)});
  add(store, token(kNow + 5), report("a", 2, 2));
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 2);
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE ended=1"), 11);
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE ended=0"), 3);
}
END_TEST

START_TEST(an_id_is_given_anew_without_an_end) {
  Folder folder;
  Store store(folder.file("s"));
  tell(store, {job(7, kNow - 5000)});
  add(store, token(kNow - 4000), {"a", {{0, 0, 1, kNow - 3000, 0}, {1, 1, 1, kNow - 2000, 0}}});
  add(store, token(kNow + 5), report("b", 1, 3));  // slurmctld began anew, the scheduler has not spoken yet
  tell(store, {job(7, kNow)});
  add(store, token(kNow + 5), report("b", 2, 4));
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 2);
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE ended=1"), 2);
  ck_assert_int_eq(count(store, "SELECT points FROM job WHERE ended=0"), 4);
  ck_assert_int_eq(count(store, "SELECT submit FROM job WHERE ended=0"), kNow);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM point WHERE job=(SELECT id FROM job WHERE ended=0)"),
                   4);
}
END_TEST

START_TEST(requeue_goes_on_with_the_curve) {
  Folder folder;
  Store store(folder.file("s"));
  tell(store, {job(7, kNow)});
  add(store, token(kNow + 5), report("a", 0, 9));
  tell(store, {job(7, kNow, 1)});  // Slurm counts the restart first and changes the submit time later
  tell(store, {job(7, kNow + 100, 1)});
  add(store, token(kNow + 200, 1), report("b", 0, 4));
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 1);
  ck_assert_int_eq(count(store, "SELECT submit FROM job"), kNow + 100);
  ck_assert_int_eq(count(store, "SELECT points FROM job"), 15);
  add(store, token(kNow + 5), report("a", 10, 10));  // of the earlier run
  ck_assert_int_eq(count(store, "SELECT points FROM job"), 16);
}
END_TEST

START_TEST(requeue_of_an_ended_job) {
  Folder folder;
  Store store(folder.file("s"));
  tell(store, {job(7, kNow)});
  add(store, token(kNow + 5), report("a", 0, 9));
  tell(store, {job(7, kNow, 0, true, kNow + 50)});
  // told before the scheduler says so: the token's restart count shows it
  add(store, token(kNow + 5000, 1), report("b", 0, 4));
  ck_assert_int_eq(count(store, "SELECT points FROM job"), 15);
  tell(store, {job(7, kNow + 4000, 1)});
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 1);
  ck_assert_int_eq(count(store, "SELECT ended FROM job"), 0);
}
END_TEST

START_TEST(provisional_entry_of_a_known_job_is_merged) {
  Folder folder;
  Store store(folder.file("s"));
  tell(store, {job(7, kNow, 0, true, kNow + 50)});
  add(store, token(kNow + 5), report("a", 0, 9));
  add(store, token(kNow + 9000), report("a", 5, 14));  // a second run under a token that does not say so
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 2);
  tell(store, {job(7, kNow + 8000, 1)});
  ck_assert_int_eq(count(store, "SELECT count(*) FROM job"), 1);
  ck_assert_int_eq(count(store, "SELECT points FROM job"), 20);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM point JOIN job ON job.id=point.job"), 20);
  ck_assert_int_eq(count(store, "SELECT last_n FROM stream"), 14);
}
END_TEST

START_TEST(streams_are_bounded) {
  Folder folder;
  Store store(folder.file("s"));
  store.begin();
  for (int i = 0; i < 4100; ++i)
    store.add_report(token(), report(("s" + std::to_string(i)).c_str(), 0, 0), kNow + i);
  store.commit();
  ck_assert_int_eq(count(store, "SELECT count(*) FROM stream"), 4096);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM stream WHERE name='s3'"), 0);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM stream WHERE name='s4'"), 1);
}
END_TEST

START_TEST(points_are_pulled_in_pages) {
  Folder folder;
  Store store(folder.file("s"));
  Reader reader(folder.file("s"), 1);
  tell(store, {job(7, kNow)});
  mlq::wire::Report first = report("a", 0, 4);
  first.points[2].loss = std::numeric_limits<double>::quiet_NaN();
  first.points[3].cores = 0;
  add(store, token(), first);
  Reporter other = token();
  other.job_id = 8;
  add(store, other, report("a", 0, 0));
  other.cluster = "d";
  add(store, other, report("a", 0, 0));
  mlq::wire::Json page = reader.points("c", 0, 3, kNow);
  json_t* points = json_object_get(page.get(), "points");
  ck_assert_uint_eq(json_array_size(points), 3);
  ck_assert_int_eq(json_integer_value(json_object_get(page.get(), "next")), 3);
  ck_assert(json_is_true(json_object_get(page.get(), "more")));
  ck_assert(json_is_null(json_array_get(json_array_get(points, 2), 4)));
  page = reader.points("c", 3, 100, kNow);
  points = json_object_get(page.get(), "points");
  ck_assert_uint_eq(json_array_size(points), 3);
  ck_assert(json_is_null(json_array_get(json_array_get(points, 0), 6)));
  ck_assert_int_eq(json_integer_value(json_array_get(json_array_get(points, 1), 2)), kNow);
  ck_assert_int_eq(json_integer_value(json_array_get(json_array_get(points, 2), 1)), 8);
  ck_assert_int_eq(json_integer_value(json_array_get(json_array_get(points, 2), 2)), 0);
  ck_assert_int_eq(json_integer_value(json_object_get(page.get(), "next")), 7);
  ck_assert(json_is_false(json_object_get(page.get(), "more")));
  // a number of another store's future: on from here
  page = reader.points("c", 1'000'000, 100, kNow);
  ck_assert_int_eq(json_integer_value(json_object_get(page.get(), "next")), 7);
}
END_TEST

START_TEST(ended_jobs_are_pulled_for_ten_minutes) {
  Folder folder;
  Store store(folder.file("s"));
  Reader reader(folder.file("s"), 1);
  tell(store, {job(7, kNow)});
  add(store, token(), report("a", 0, 4));
  tell(store, {job(7, kNow, 0, true, kNow + 10)});
  const auto pulled = [&](double now) {
    return json_array_size(json_object_get(reader.points("c", 0, 100, now).get(), "points"));
  };
  ck_assert_uint_eq(pulled(kNow + 610), 5);
  ck_assert_uint_eq(pulled(kNow + 611), 0);
}
END_TEST

START_TEST(jobs_are_listed) {
  Folder folder;
  Store store(folder.file("s"));
  Reader reader(folder.file("s"), 2);
  mlq::wire::CycleJob one = job(1, kNow);
  one.status = R"({"rank":3})";
  mlq::wire::CycleJob two = job(2, kNow, 0, true, kNow);
  mlq::wire::CycleJob three = job(3, kNow);
  three.user = "bob";
  tell(store, {one, two, three});
  one.status.reset();
  tell(store, {one});  // a cycle without status keeps the newest one
  const auto size = [&](JobsQuery query) {
    query.cluster = "c";
    return json_array_size(json_object_get(reader.jobs(query, kNow).get(), "jobs"));
  };
  ck_assert_uint_eq(size({}), 2);
  JobsQuery query;
  query.all = true;
  ck_assert_uint_eq(size(query), 3);
  query.max = 1;
  ck_assert_uint_eq(size(query), 1);
  query = {};
  query.user = "bob";
  ck_assert_uint_eq(size(query), 1);
  query = {};
  query.job_id = 2;
  ck_assert_uint_eq(size(query), 0);
  // an array is all its tasks, whichever of them has its number
  for (const std::uint32_t task : {40U, 41U, 42U}) {
    mlq::wire::CycleJob one_task = job(task, kNow, 0, task == 41, kNow);
    one_task.array_job_id = 40;
    tell(store, {one_task});
  }
  query.job_id = 40;
  ck_assert_uint_eq(size(query), 2);
  query.all = true;
  ck_assert_uint_eq(size(query), 3);
  query.job_id = 41;
  ck_assert_uint_eq(size(query), 1);
  mlq::wire::Json found = reader.job("c", 1, 10, kNow);
  ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(found.get(), "status"), "rank")), 3);
  check_text(json_string_value(json_object_get(json_object_get(found.get(), "cycle"), "mode")), "active");
  ck_assert(!reader.job("c", 4, 10, kNow));
  ck_assert(!reader.job("d", 1, 10, kNow));
  check_text(reader.only_cluster()->c_str(), "c");
  Reporter other = token();
  other.cluster = "d";
  add(store, other, report("a", 0, 5));
  ck_assert(!reader.only_cluster());
  found = reader.job("d", 7, 2, kNow);
  check_text(json_string_value(json_object_get(found.get(), "state")), "UNKNOWN");
  json_t* points = json_object_get(found.get(), "points");
  ck_assert_uint_eq(json_array_size(points), 2);
  ck_assert_double_eq(json_real_value(json_array_get(json_array_get(points, 1), 0)), 5);
}
END_TEST

START_TEST(one_mlqd_at_a_time) {
  Folder folder;
  Store store(folder.file("s"));
  try {
    Store second(folder.file("s"));
    ck_abort_msg("a second one opened it");
  } catch (const std::runtime_error& error) {
    ck_assert_ptr_nonnull(strstr(error.what(), "in use by another mlqd"));
  }
}
END_TEST

START_TEST(stores_of_others_are_refused) {
  Folder folder;
  { Store store(folder.file("newer")); }
  Database(folder.file("newer"), Database::Mode::write).execute("PRAGMA user_version=99");
  try {
    Store store(folder.file("newer"));
    ck_abort_msg("a newer store was opened");
  } catch (const std::runtime_error& error) {
    ck_assert_ptr_nonnull(strstr(error.what(), "has version 99, this mlqd knows versions up to"));
  }
  Database foreign(folder.file("foreign"), Database::Mode::write);
  foreign.execute("CREATE TABLE t(x)");
  try {
    Store store(folder.file("foreign"));
    ck_abort_msg("a foreign store was opened");
  } catch (const std::runtime_error& error) {
    ck_assert_ptr_nonnull(strstr(error.what(), "another program's"));
  }
  // and left as they were: the journal's mode is kept in the file
  Statement mode(foreign, "PRAGMA journal_mode");
  ck_assert(mode.step());
  check_text(mode.text(0), "delete");
  ck_assert_int_eq(foreign.integer("PRAGMA auto_vacuum"), 0);
}
END_TEST

START_TEST(migrations_run_once_and_whole) {
  Folder folder;
  Database database(folder.file("m"), Database::Mode::write);
  const char* const first[] = {"CREATE TABLE a(x); INSERT INTO a VALUES(1);"};
  migrate(database, "m", first);
  migrate(database, "m", first);
  ck_assert_int_eq(database.integer("SELECT count(*) FROM a"), 1);
  const char* const broken[] = {first[0], "INSERT INTO a VALUES(2); INSERT INTO none VALUES(1);"};
  try {
    migrate(database, "m", broken);
    ck_abort_msg("a broken migration passed");
  } catch (const SqliteError&) {
  }
  ck_assert_int_eq(database.integer("SELECT count(*) FROM a"), 1);
  ck_assert_int_eq(database.integer("PRAGMA user_version"), 1);
  const char* const second[] = {first[0], "INSERT INTO a VALUES(3)"};
  migrate(database, "m", second);
  ck_assert_int_eq(database.integer("SELECT sum(x) FROM a"), 4);
  ck_assert_int_eq(database.integer("PRAGMA user_version"), 2);
}
END_TEST

int main() {
  Suite* suite = suite_create("mlqd store");
  TCase* cases = tcase_create("store");
  tcase_set_timeout(cases, 60);
  tcase_add_test(cases, repeats_are_dropped);
  tcase_add_test(cases, rolled_back_is_gone);
  tcase_add_test(cases, reopened_store_goes_on);
  tcase_add_test(cases, provisional_entry_is_adopted);
  tcase_add_test(cases, provisional_entry_of_an_older_job_is_left);
  tcase_add_test(cases, other_users_and_clusters_are_apart);
  tcase_add_test(cases, ids_that_wrap_are_other_jobs);
  tcase_add_test(cases, an_id_is_given_anew_without_an_end);
  tcase_add_test(cases, requeue_goes_on_with_the_curve);
  tcase_add_test(cases, requeue_of_an_ended_job);
  tcase_add_test(cases, provisional_entry_of_a_known_job_is_merged);
  tcase_add_test(cases, streams_are_bounded);
  tcase_add_test(cases, points_are_pulled_in_pages);
  tcase_add_test(cases, ended_jobs_are_pulled_for_ten_minutes);
  tcase_add_test(cases, jobs_are_listed);
  tcase_add_test(cases, one_mlqd_at_a_time);
  tcase_add_test(cases, stores_of_others_are_refused);
  tcase_add_test(cases, migrations_run_once_and_whole);
  suite_add_tcase(suite, cases);
  suite_add_tcase(suite, agent_cases());
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
