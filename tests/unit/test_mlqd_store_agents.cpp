// SPDX-License-Identifier: GPL-2.0-or-later
// What the store keeps of agents, and what a scheduler pulls of it.
#include "tests/unit/mlqd_fixture.hpp"
#include "tools/mlqd/schema.hpp"

using namespace mlq::mlqd;
using namespace mlq::mlqd::test;

TCase* agent_cases();

namespace {

void stand(Store& store, const Reporter& reporter, const char* data, double now = kNow) {
  store.begin();
  store.set_agent(reporter, {0, now, data}, now);
  store.commit();
}

std::string agent_of(const json_t* job) {
  return mlq::wire::to_text(json_object_get(job, "agent"));
}

std::size_t agents_in(const mlq::wire::Json& page) {
  return json_array_size(json_object_get(page.get(), "agents"));
}

std::int64_t next_of(const mlq::wire::Json& page) {
  return json_integer_value(json_object_get(page.get(), "next"));
}

}  // namespace

START_TEST(the_newest_state_of_an_agent_is_kept) {
  Folder folder;
  {
    Store store(folder.file("s"));
    tell(store, {job(7, kNow)});
    stand(store, token(), R"({"units":1})");
    stand(store, token(), R"({"units":3,"companions":[{"job_id":9}]})", kNow + 2);
  }
  Store store(folder.file("s"));  // a restart keeps it
  Reader reader(folder.file("s"), 1);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM agent"), 1);
  ck_assert_int_eq(count(store, "SELECT last_report FROM job"), 0);
  ck_assert_int_eq(count(store, "SELECT touched FROM job"), kNow + 2);
  check_text(agent_of(reader.job("c", 7, 0, kNow).get()).c_str(),
             R"({"units":3,"companions":[{"job_id":9}],"received":1790000002.0})");
  const mlq::wire::Json all = reader.jobs({"c", {}, {}, false, 10}, kNow);
  check_text(agent_of(json_array_get(json_object_get(all.get(), "jobs"), 0)).c_str(),
             R"({"units":3,"companions":[{"job_id":9}],"received":1790000002.0})");
}
END_TEST

START_TEST(changed_agents_are_pulled_once) {
  Folder folder;
  Store store(folder.file("s"));
  Reader reader(folder.file("s"), 1);
  const auto pull = [&](std::int64_t after, std::int64_t max = 100) {
    return reader.points("c", after, max, kNow);
  };
  tell(store, {job(7, kNow)});
  add(store, token(), report("a", 0, 3));
  stand(store, token(), R"({"units":2,"companions":[{"job_id":9}]})");
  mlq::wire::Json page = pull(0);
  check_text(mlq::wire::to_text(json_object_get(page.get(), "agents")).c_str(),
             R"([{"units":2,"received":1790000000.0,"job_id":7,"submit":1790000000}])");
  ck_assert_int_eq(next_of(page), 5);
  ck_assert(json_is_false(json_object_get(page.get(), "more")));
  ck_assert_uint_eq(agents_in(pull(5)), 0);
  stand(store, token(), R"({"units":4})");
  ck_assert_uint_eq(agents_in(pull(5)), 1);
  // a page that is full of points tells of an agent in the page that its number lies in
  page = pull(0, 3);
  ck_assert_int_eq(next_of(page), 3);
  ck_assert_uint_eq(agents_in(page), 0);
  ck_assert(json_is_true(json_object_get(page.get(), "more")));
  ck_assert_uint_eq(agents_in(pull(3)), 1);
  // an agent of a job that ended long ago, or of another cluster, is of no interest
  Reporter other = token();
  other.cluster = "d";
  stand(store, other, R"({"units":1})");
  ck_assert_uint_eq(agents_in(pull(0)), 1);
  tell(store, {job(7, kNow, 0, true, kNow - 601)});
  page = pull(0);
  ck_assert_uint_eq(agents_in(page), 0);
  ck_assert_int_eq(next_of(page), 7);
}
END_TEST

START_TEST(many_agents_come_in_pages) {
  Folder folder;
  Store store(folder.file("s"));
  Reader reader(folder.file("s"), 1);
  const std::string data = R"({"refused":")" + std::string(60000, 'x') + "\"}";
  constexpr std::uint32_t kJobs = 200;  // 12 MB
  store.begin();
  for (std::uint32_t id = 1; id <= kJobs; ++id) {
    Reporter reporter = token();
    reporter.job_id = id;
    store.set_agent(reporter, {0, 1, data}, kNow);
  }
  store.add_report(token(), report("a", 0, 0), kNow);
  store.commit();
  std::size_t agents = 0, points = 0, pages = 0;
  std::int64_t after = 0;
  for (bool more = true; more; ++pages) {
    ck_assert_uint_lt(pages, 10);
    const mlq::wire::Json page = reader.points("c", after, 100, kNow);
    ck_assert_uint_lt(mlq::wire::to_text(page.get()).size(), 5 << 20);
    ck_assert_int_gt(next_of(page), after);
    after = next_of(page);
    agents += agents_in(page);
    points += json_array_size(json_object_get(page.get(), "points"));
    more = json_is_true(json_object_get(page.get(), "more"));
  }
  ck_assert_uint_eq(agents, kJobs);
  ck_assert_uint_eq(points, 1);
  ck_assert_uint_gt(pages, 2);
}
END_TEST

START_TEST(an_agent_follows_its_job) {
  Folder folder;
  Store store(folder.file("s"));
  Reader reader(folder.file("s"), 1);
  stand(store, token(kNow + 20), R"({"units":1})");  // before the scheduler tells of the job
  tell(store, {job(7, kNow)});
  ck_assert_int_eq(count(store, "SELECT count(*) FROM agent JOIN job ON job.id=agent.job AND submit>0"), 1);
  // the id is given anew: what came since is of the new job
  stand(store, token(kNow + 5000), R"({"units":2})", kNow + 5000);
  tell(store, {job(7, kNow + 4000)}, kNow + 5001);
  ck_assert_int_eq(count(store, "SELECT submit FROM agent JOIN job ON job.id=agent.job"), kNow + 4000);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM agent"), 1);
}
END_TEST

START_TEST(a_store_of_version_1_goes_on) {
  Folder folder;
  {
    Database old(folder.file("s"), Database::Mode::write);
    migrate(old, "s", migrations().first(1));
    old.execute(
        "INSERT INTO job VALUES(1,'c',7,1000,1790000000,1790000000,0,0,0,0,1,0,0);"
        "INSERT INTO point VALUES(41,1,5,0.5,1790000001,2)");
  }
  Store store(folder.file("s"));
  Reader reader(folder.file("s"), 1);
  ck_assert_int_eq(count(store, "PRAGMA user_version"), static_cast<std::int64_t>(migrations().size()));
  ck_assert_ptr_null(json_object_get(reader.job("c", 7, 10, kNow).get(), "agent"));
  stand(store, token(), R"({"units":1})");
  const mlq::wire::Json page = reader.points("c", 0, 100, kNow);
  ck_assert_int_eq(next_of(page), 42);
  ck_assert_uint_eq(agents_in(page), 1);
  ck_assert_uint_eq(json_array_size(json_object_get(page.get(), "points")), 1);
}
END_TEST

TCase* agent_cases() {
  TCase* cases = tcase_create("agents");
  tcase_set_timeout(cases, 60);
  tcase_add_test(cases, the_newest_state_of_an_agent_is_kept);
  tcase_add_test(cases, changed_agents_are_pulled_once);
  tcase_add_test(cases, many_agents_come_in_pages);
  tcase_add_test(cases, an_agent_follows_its_job);
  tcase_add_test(cases, a_store_of_version_1_goes_on);
  return cases;
}
