// SPDX-License-Identifier: GPL-2.0-or-later
// What agents ask for every second: the short answer, how long it is kept, how often they are told to ask.
#include "tools/mlqd/target_answers.hpp"

#include "tests/unit/mlqd_world.hpp"

using namespace mlq::mlqd;
using namespace mlq::mlqd::test;

namespace {

TargetAnswers::Text text(std::string words) {
  return std::make_shared<const std::string>(std::move(words));
}

/// A cycle that gives job 7, submitted then, a target of so many units.
std::string cycle(int units, long submit = kNow - 10, const char* more = R"("ended":false)") {
  return R"({"v":1,"cluster":"c","time":1790000000,"jobs":[{"job_id":7,"submit":)" + std::to_string(submit) +
         R"(,"uid":1000,"restarts":0,)" + more +
         R"(,"state":"RUNNING","user":"ann","name":"n","request":"max=9","status":{"rank":1,"reason":"long",)"
         R"("target":{"units":)" +
         std::to_string(units) + R"(,"base":2}}}]})";
}

Response poll(World& world, std::uint32_t job = 7, double monotonic = 0) {
  Request request =
      by_tcp("GET", ("/v1/jobs/" + std::to_string(job)).c_str(), world.token(MLQ_ROLE_JOB, "c", job));
  request.arguments["only"] = "target";
  return world.ask(request, monotonic);
}

const char* const kTwo =
    R"({"v":1,"poll":1.0,"cluster":"c","job_id":7,"ended":false,"request":"max=9","status":{"target":{"units":2,"base":2}}})";

}  // namespace

START_TEST(kept_until_the_job_changes) {
  TargetAnswers answers;
  const auto first = answers.ask("c", 7, 0);
  ck_assert(!first.text);
  answers.keep("c", 7, first.ticket, text("old"), 0);
  check_text(*answers.ask("c", 7, 1).text, "old");
  ck_assert(!answers.ask("c", 8, 1).text);
  ck_assert(!answers.ask("d", 7, 1).text);
  answers.changed("d", 7);
  answers.changed("c", 70);
  check_text(*answers.ask("c", 7, 1).text, "old");
  answers.changed("c", 7);
  const auto again = answers.ask("c", 7, 1);
  ck_assert(!again.text);
  answers.keep("c", 7, again.ticket, text("new"), 1);
  check_text(*answers.ask("c", 7, 1).text, "new");
}
END_TEST

START_TEST(what_was_read_before_a_change_is_not_kept) {
  TargetAnswers answers;
  const auto before = answers.ask("c", 7, 0);
  answers.changed("c", 7);
  answers.keep("c", 7, before.ticket, text("old"), 0);
  const auto after = answers.ask("c", 7, 0);
  ck_assert(!after.text);
  answers.keep("c", 7, before.ticket, text("old"), 0);  // a slow reader, and a new one is under way
  ck_assert(!answers.ask("c", 7, 0).text);
  answers.keep("c", 7, after.ticket, text("new"), 0);
  check_text(*answers.ask("c", 7, 0).text, "new");
  answers.keep("c", 7, before.ticket, text("old"), 0);
  check_text(*answers.ask("c", 7, 0).text, "new");
}
END_TEST

START_TEST(two_readers_of_one_state_may_both_keep) {
  TargetAnswers answers;
  const auto one = answers.ask("c", 7, 0), other = answers.ask("c", 7, 0);
  answers.keep("c", 7, other.ticket, text("x"), 0);
  answers.keep("c", 7, one.ticket, text("x"), 0);
  check_text(*answers.ask("c", 7, 0).text, "x");
}
END_TEST

START_TEST(kept_for_a_while_and_not_without_bound) {
  TargetAnswers answers;
  answers.keep("c", 7, answers.ask("c", 7, 0).ticket, text("x"), 0);
  ck_assert(answers.ask("c", 7, TargetAnswers::kKept - 0.1).text != nullptr);
  const auto late = answers.ask("c", 7, TargetAnswers::kKept);
  ck_assert(!late.text);
  answers.keep("c", 7, late.ticket, text(std::string(TargetAnswers::kLongestText + 1, 'x')), 60);
  ck_assert(!answers.ask("c", 7, 60).text);
  for (std::uint32_t job = 1; job <= 2 * TargetAnswers::kMost + 7; ++job) answers.ask("c", job, 60);
  ck_assert_uint_le(answers.size(), TargetAnswers::kMost);
  ck_assert_uint_gt(answers.size(), 0);
}
END_TEST

START_TEST(many_agents_are_told_to_ask_less_often) {
  TargetAnswers answers;
  answers.limit(100);
  ck_assert_double_eq(answers.pause(0), 1);
  for (int second = 0; second < 5; ++second)
    for (std::uint32_t job = 1; job <= 250; ++job) {
      answers.ask("c", job, second);
      answers.changed("c", job);
    }
  ck_assert_uint_eq(answers.agents(5), 250);  // each counts once, however often it asks
  ck_assert_double_eq(answers.pause(5), 2.5);
  answers.ask("c", 1, 15);  // the next period has just begun: the one before counts
  ck_assert_uint_eq(answers.agents(16), 250);
  ck_assert_uint_eq(answers.agents(30), 1);
  ck_assert_double_eq(answers.pause(30), 1);
  for (std::uint32_t job = 1; job <= 5000; ++job) answers.ask("c", job, 31);
  ck_assert_double_eq(answers.pause(31), TargetAnswers::kLongest);
  ck_assert_uint_eq(answers.agents(60), 0);
}
END_TEST

START_TEST(the_answer_follows_each_cycle) {
  World world;
  ck_assert_uint_eq(poll(world).status, 404);
  for (const int units : {2, 5, 2}) {
    ck_assert_uint_eq(world.ask(by_socket("POST", "/v1/cycle", 0, cycle(units))).status, 200);
    for (int again = 0; again < 3; ++again) {
      const Response told = poll(world);
      ck_assert_uint_eq(told.status, 200);
      ck_assert_ptr_nonnull(strstr(told.body.c_str(), ("{\"units\":" + std::to_string(units) + ",").c_str()));
    }
  }
  check_text(poll(world).body, kTwo);
  Request local = by_socket("GET", "/v1/jobs/7", 1234);
  local.arguments["only"] = "target";
  check_text(world.ask(local).body, kTwo);
  local.arguments["only"] = "goal";
  const Response refused = world.ask(local);
  ck_assert_uint_eq(refused.status, 400);
  ck_assert_ptr_nonnull(strstr(refused.body.c_str(), R"(only is \"goal\", target is needed)"));
}
END_TEST

START_TEST(an_id_that_is_given_anew_is_another_job) {
  World world;
  const long old = kNow - 9000;
  const char* const over = R"("ended":true,"end":1789992000)";
  ck_assert_uint_eq(world.ask(by_socket("POST", "/v1/cycle", 0, cycle(5, old, over))).status, 200);
  ck_assert_ptr_nonnull(strstr(poll(world).body.c_str(), R"("ended":true)"));
  // the token is newer than that job's end: what it reports is a job's that no cycle has told of yet
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/reports", world.token(), losses(0, 1))).status, 200);
  check_text(poll(world).body, R"({"v":1,"poll":1.0,"cluster":"c","job_id":7,"ended":false,"status":{}})");
}
END_TEST

START_TEST(others_may_not_ask_and_do_not_count) {
  ServiceOptions options;
  options.polls_rate = 1;
  World world(options);
  world.ask(by_socket("POST", "/v1/cycle", 0, cycle(2)));
  Request foreign = by_tcp("GET", "/v1/jobs/7", world.token(MLQ_ROLE_JOB, "c", 8));
  foreign.arguments["only"] = "target";
  ck_assert_uint_eq(world.ask(foreign).status, 403);
  Request local = by_socket("GET", "/v1/jobs/7", 1234);
  local.arguments["only"] = "target";
  for (const char* path : {"/v1/jobs/1", "/v1/jobs/2", "/v1/jobs/3", "/v1/jobs/7"}) {
    local.path = path;
    world.ask(local);
  }
  check_text(poll(world).body, kTwo);  // alone
  for (std::uint32_t job = 20; job < 23; ++job) poll(world, job);
  const Response metrics = world.ask(by_tcp("GET", "/metrics"));
  ck_assert_ptr_nonnull(strstr(metrics.body.c_str(), "slurm_mlq_agents 4\n"));
  check_text(poll(world).body, kTwo);
  world.ask(by_socket("POST", "/v1/cycle", 0, cycle(2)));
  ck_assert_ptr_nonnull(strstr(poll(world).body.c_str(), R"("poll":4.0)"));
}
END_TEST

START_TEST(a_token_that_was_good_is_looked_at_again) {
  const Folder folder;
  const std::string file = folder.file("key");
  const auto new_key = [&](mlq_key_t& key) {
    std::filesystem::remove(file);
    ck_assert_int_eq(mlq_key_create(file.c_str(), nullptr, 0), 0);
    ck_assert_int_eq(mlq_key_load(file.c_str(), &key, nullptr, 0), 0);
  };
  mlq_key_t key;
  new_key(key);
  Keys keys({file});
  std::string error;
  ck_assert(keys.load(error));
  char token[MLQ_TOKEN_MAX];
  const mlq_claims_t claims{MLQ_ROLE_JOB, "c", 7, 1000, 2, kNow, kNow + 100};
  ck_assert_int_eq(mlq_token_mint(&claims, &key, token, sizeof token, nullptr, 0), 0);
  mlq_claims_t found;
  for (int i = 0; i < 3; ++i) {
    found = {};
    ck_assert_int_eq(keys.verify(token, kNow + i, found, error), MLQ_TOKEN_OK);
    ck_assert_uint_eq(found.job_id, 7);
    ck_assert_uint_eq(found.restarts, 2);
  }
  std::string changed(token);
  changed.back() = changed.back() == 'A' ? 'B' : 'A';
  changed[changed.size() - 5] = changed[changed.size() - 5] == 'A' ? 'B' : 'A';
  ck_assert_int_eq(keys.verify(changed, kNow, found, error), MLQ_TOKEN_FORGED);
  ck_assert_int_eq(keys.verify(token, kNow + 100, found, error), MLQ_TOKEN_EXPIRED);
  check_text(error, "token expired 0 s ago");
  ck_assert_int_eq(keys.verify(token, kNow - MLQ_TOKEN_SKEW_S - 1, found, error), MLQ_TOKEN_EARLY);
  ck_assert_int_eq(keys.verify(token, kNow + 99, found, error), MLQ_TOKEN_OK);
  new_key(key);
  ck_assert_int_eq(keys.verify(token, kNow, found, error), MLQ_TOKEN_OK);  // the old key until load()
  ck_assert(keys.load(error));
  ck_assert_int_eq(keys.verify(token, kNow, found, error), MLQ_TOKEN_FORGED);
}
END_TEST

int main() {
  Suite* suite = suite_create("mlqd targets");
  TCase* cases = tcase_create("targets");
  tcase_set_timeout(cases, 60);
  tcase_add_test(cases, kept_until_the_job_changes);
  tcase_add_test(cases, what_was_read_before_a_change_is_not_kept);
  tcase_add_test(cases, two_readers_of_one_state_may_both_keep);
  tcase_add_test(cases, kept_for_a_while_and_not_without_bound);
  tcase_add_test(cases, many_agents_are_told_to_ask_less_often);
  tcase_add_test(cases, the_answer_follows_each_cycle);
  tcase_add_test(cases, an_id_that_is_given_anew_is_another_job);
  tcase_add_test(cases, others_may_not_ask_and_do_not_count);
  tcase_add_test(cases, a_token_that_was_good_is_looked_at_again);
  suite_add_tcase(suite, cases);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
