// SPDX-License-Identifier: GPL-2.0-or-later
// Who may do what, and what each answer is: the daemon without sockets.
#include "tests/unit/mlqd_world.hpp"

using namespace mlq::mlqd;
using namespace mlq::mlqd::test;

namespace {

const char* const kCycle =
    R"({"v":1,"cluster":"c","time":1790000000,"jobs":[{"job_id":7,"submit":1789999990,)"
    R"("uid":1000,"restarts":0,"ended":false,"state":"RUNNING","user":"ann"}],)"
    R"("families":[{"name":"f","runs":1}]})";

}  // namespace

START_TEST(reports_need_a_jobs_token) {
  World world;
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/reports", "", losses(0, 1))).status, 401);
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/reports", "Basic eDp5", losses(0, 1))).status, 401);
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/reports", "Bearer ", losses(0, 1))).status, 401);
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/reports", world.token() + "A", losses(0, 1))).status, 401);
  ck_assert_uint_eq(
      world.ask(by_tcp("POST", "/v1/reports", world.token(MLQ_ROLE_SCHEDULER), losses(0, 1))).status, 403);
  ck_assert_uint_eq(world.ask(by_socket("POST", "/v1/reports", 0, losses(0, 1))).status, 401);
  const Response stored = world.ask(by_tcp("POST", "/v1/reports", world.token(), losses(0, 1)));
  ck_assert_uint_eq(stored.status, 200);
  check_text(stored.body.c_str(), R"({"stored":2,"dropped":0})");
  check_text(world.ask(by_tcp("POST", "/v1/reports", world.token(), losses(1, 4))).body.c_str(),
             R"({"stored":3,"dropped":1})");
  const Response bad = world.ask(by_tcp("POST", "/v1/reports", world.token(), losses(5, 6).insert(60, "x")));
  ck_assert_uint_eq(bad.status, 400);
}
END_TEST

START_TEST(expired_tokens) {
  World world;
  Request request = by_tcp("POST", "/v1/reports", world.token(), losses(0, 1));
  std::optional<Response> refused;
  {
    World other;
    Request copy = request;  // another site's key
    refused = other.ask(copy);
  }
  ck_assert_uint_eq(refused->status, 401);
  ck_assert_ptr_nonnull(strstr(refused->body.c_str(), "not signed with this site's key"));
  ck_assert_ptr_null(strstr(refused->body.c_str(), request.authorization->c_str() + 7));
}
END_TEST

START_TEST(cycles_come_from_the_scheduler) {
  World world;
  const char* const paths[][2] = {{"POST", "/v1/cycle"}, {"GET", "/v1/points"}, {"GET", "/v1/families"}};
  for (const auto& row : paths) {
    ck_assert_uint_eq(world.ask(by_tcp(row[0], row[1], "", kCycle)).status, 401);
    ck_assert_uint_eq(world.ask(by_tcp(row[0], row[1], world.token(), kCycle)).status, 403);
    ck_assert_uint_eq(world.ask(by_socket(row[0], row[1], 1000, kCycle)).status, 403);
    ck_assert_uint_eq(world.ask(by_socket(row[0], row[1], UINT32_MAX, kCycle)).status, 403);
    ck_assert_uint_eq(world.ask(by_socket(row[0], row[1], 0, kCycle)).status, 200);
    ck_assert_uint_eq(world.ask(by_socket(row[0], row[1], kAdmin, kCycle)).status, 200);
    ck_assert_uint_eq(world.ask(by_tcp(row[0], row[1], world.token(MLQ_ROLE_SCHEDULER), kCycle)).status, 200);
  }
  check_text(world.ask(by_socket("POST", "/v1/cycle", 0, kCycle)).body.c_str(), R"({"jobs":1})");
  ck_assert_uint_eq(
      world.ask(by_tcp("POST", "/v1/cycle", world.token(MLQ_ROLE_SCHEDULER, "d"), kCycle)).status, 403);
  check_text(world.ask(by_socket("GET", "/v1/families", 0)).body.c_str(),
             R"({"v":1,"families":[{"name":"f","runs":1}]})");
  ck_assert_uint_eq(world.ask(by_socket("POST", "/v1/cycle", 0, "{}")).status, 400);
}
END_TEST

START_TEST(status_is_for_local_users) {
  World world;
  world.ask(by_socket("POST", "/v1/cycle", 0, kCycle));
  ck_assert_uint_eq(world.ask(by_socket("GET", "/v1/jobs", 1234)).status, 200);
  ck_assert_uint_eq(world.ask(by_socket("GET", "/v1/jobs/7", 1234)).status, 200);
  ck_assert_uint_eq(world.ask(by_tcp("GET", "/v1/jobs")).status, 401);
  ck_assert_uint_eq(world.ask(by_tcp("GET", "/v1/jobs", world.token())).status, 403);
  ck_assert_uint_eq(world.ask(by_tcp("GET", "/v1/jobs/7", world.token())).status, 200);
  ck_assert_uint_eq(world.ask(by_tcp("GET", "/v1/jobs/8", world.token())).status, 403);
  Request other = by_tcp("GET", "/v1/jobs/7", world.token());
  other.arguments["cluster"] = "d";
  ck_assert_uint_eq(world.ask(other).status, 403);
  ck_assert_uint_eq(world.ask(by_tcp("GET", "/v1/jobs", world.token(MLQ_ROLE_SCHEDULER))).status, 200);
  ServiceOptions open;
  open.public_status = true;
  World shown(open);
  shown.ask(by_socket("POST", "/v1/cycle", 0, kCycle));
  ck_assert_uint_eq(shown.ask(by_tcp("GET", "/v1/jobs")).status, 200);
  ck_assert_uint_eq(shown.ask(by_tcp("GET", "/v1/points")).status, 401);
}
END_TEST

START_TEST(paths_methods_and_arguments) {
  World world;
  ck_assert_uint_eq(world.ask(by_socket("GET", "/", 0)).status, 404);
  ck_assert_uint_eq(world.ask(by_socket("GET", "/v1/jobs/0", 0)).status, 404);
  ck_assert_uint_eq(world.ask(by_socket("GET", "/v1/jobs/7x", 0)).status, 404);
  ck_assert_uint_eq(world.ask(by_socket("GET", "/v1/jobs/4294967296", 0)).status, 404);
  const Response wrong = world.ask(by_socket("GET", "/v1/reports", 0));
  ck_assert_uint_eq(wrong.status, 405);
  check_text(wrong.allow.c_str(), "POST");
  ck_assert_uint_eq(world.ask(by_socket("GET", "/v1/points", 0)).status, 400);  // no cluster is known yet
  world.ask(by_socket("POST", "/v1/cycle", 0, kCycle));
  ck_assert_uint_eq(world.ask(by_socket("GET", "/v1/points", 0)).status, 200);
  const char* const bad[][3] = {
      {"/v1/points", "after", "-1"},     {"/v1/points", "after", "x"},
      {"/v1/points", "max", "0"},        {"/v1/points", "max", "100001"},
      {"/v1/jobs", "job_id", "0"},       {"/v1/jobs/7", "points", "1e3"},
      {"/v1/points", "cluster", "a\"b"}, {"/v1/points", "after", "9223372036854775808"}};
  for (const auto& row : bad) {
    Request request = by_socket("GET", row[0], 0);
    request.arguments[row[1]] = row[2];
    const Response response = world.ask(request);
    ck_assert_msg(response.status == 400, "%s %s=%s: %u", row[0], row[1], row[2], response.status);
    ck_assert_ptr_nonnull(strstr(response.body.c_str(), row[1]));
  }
  ck_assert_uint_eq(world.ask(by_socket("GET", "/v1/jobs/8", 0)).status, 404);
  ck_assert_uint_eq(world.ask(by_tcp("GET", "/v1/health")).status, 200);
  const Response metrics = world.ask(by_tcp("GET", "/metrics"));
  ck_assert_ptr_nonnull(strstr(metrics.body.c_str(), "slurm_mlq_jobs 1\n"));
  ck_assert_ptr_nonnull(
      strstr(metrics.body.c_str(), "slurm_mlq_cycle_timestamp_seconds{cluster=\"c\"} 1790000000\n"));
  ck_assert(metrics.body.ends_with("# EOF\n"));
}
END_TEST

START_TEST(a_fast_job_waits_and_others_do_not) {
  ServiceOptions options;
  options.points_rate = 10;
  options.points_burst = 50;
  World world(options);
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/reports", world.token(), losses(0, 99))).status, 200);
  const Response slow = world.ask(by_tcp("POST", "/v1/reports", world.token(), losses(100, 100)));
  ck_assert_uint_eq(slow.status, 429);
  ck_assert_double_eq_tol(slow.retry_after, 5.1, 1e-9);
  const std::string other = world.token(MLQ_ROLE_JOB, "c", 8);
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/reports", other, losses(0, 0))).status, 200);
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/reports", world.token(), losses(100, 100)), 5.2).status,
                    200);
}
END_TEST

START_TEST(requests_that_begin_together_count_together) {
  ServiceOptions options;
  options.points_rate = 10;
  options.points_burst = 50;
  World world(options);
  Request second = by_tcp("POST", "/v1/reports", world.token(), losses(100, 199));
  ck_assert(!world.service().begin(second, kNow, 0));
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/reports", world.token(), losses(0, 99))).status, 200);
  const auto refused = world.service().handle(
      second, kNow, 0, [] {}, [](Response) {});
  ck_assert_uint_eq(refused->status, 429);
}
END_TEST

START_TEST(many_requests_wait_too) {
  ServiceOptions options;
  options.requests_rate = 1;
  options.requests_burst = 3;
  World world(options);
  for (int i = 0; i < 3; ++i) ck_assert_uint_eq(world.ask(by_tcp("GET", "/v1/health")).status, 200);
  ck_assert_uint_eq(world.ask(by_tcp("GET", "/v1/health")).status, 429);
  for (int i = 0; i < 10; ++i) ck_assert_uint_eq(world.ask(by_socket("GET", "/v1/health", 0)).status, 200);
  const char* const steady = R"({"v":1,"time":1,"phase":"steady","units":2})";
  for (int i = 0; i < 3; ++i)
    ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/agent", world.token(), steady)).status, 200);
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/agent", world.token(), steady)).status, 429);
}
END_TEST

START_TEST(agents_need_their_own_jobs_token) {
  World world;
  const std::string steady = R"({"v":1,"time":1790000000,"phase":"steady","units":2,"job_id":7})";
  const auto post = [&](const std::string& authorization, const std::string& body) {
    return world.ask(by_tcp("POST", "/v1/agent", authorization, body));
  };
  ck_assert_uint_eq(post("", steady).status, 401);
  ck_assert_uint_eq(world.ask(by_socket("POST", "/v1/agent", 0, steady)).status, 401);
  ck_assert_uint_eq(post(world.token(MLQ_ROLE_SCHEDULER), steady).status, 403);
  const Response others = post(world.token(MLQ_ROLE_JOB, "c", 8), steady);
  ck_assert_uint_eq(others.status, 403);
  ck_assert_ptr_nonnull(strstr(others.body.c_str(), "job_id is 7, the token is of job 8"));
  const Response bad = post(world.token(), R"({"v":1,"time":1,"phase":"asleep","units":2})");
  ck_assert_uint_eq(bad.status, 400);
  ck_assert_ptr_nonnull(strstr(bad.body.c_str(), "phase is a string, steady, growing"));
  ck_assert_uint_eq(world.ask(by_tcp("GET", "/v1/agent", world.token())).status, 405);
  const Response taken = post(world.token(), steady);
  ck_assert_uint_eq(taken.status, 200);
  check_text(taken.body.c_str(), R"({"received":1790000000.0})");
  const Response job = world.ask(by_tcp("GET", "/v1/jobs/7", world.token()));
  ck_assert_ptr_nonnull(strstr(job.body.c_str(), R"("agent":{"time":1790000000,"phase":"steady","units":2)"));
  Request large = by_tcp("POST", "/v1/agent", world.token());
  ck_assert(!world.service().begin(large, kNow, 0));
  ck_assert_uint_eq(large.body_limit, 65536);
}
END_TEST

START_TEST(speeds_are_a_users_own) {
  World world;
  const std::string report = R"({"v":1,"family":"f","unit":"core","node":"n1","ranks":[[0,32,2.5]]})";
  const auto ask = [&](const std::string& authorization, const char* format) {
    Request request = by_tcp("GET", "/v1/speeds", authorization);
    request.arguments = {{"family", "f"}, {"unit", "core"}, {"format", format}};
    return world.ask(std::move(request));
  };
  for (const char* method : {"GET", "POST"}) {
    ck_assert_uint_eq(world.ask(by_tcp(method, "/v1/speeds", "", report)).status, 401);
    ck_assert_uint_eq(world.ask(by_socket(method, "/v1/speeds", 0, report)).status, 401);
    const std::string scheduler = world.token(MLQ_ROLE_SCHEDULER);
    ck_assert_uint_eq(world.ask(by_tcp(method, "/v1/speeds", scheduler, report)).status, 403);
  }
  ck_assert_uint_eq(world.ask(by_tcp("PUT", "/v1/speeds", world.token(), report)).status, 405);
  const Response taken = world.ask(by_tcp("POST", "/v1/speeds", world.token(), report));
  check_text(taken.body, R"({"ranks": 1})");
  check_text(ask(world.token(), "json").body, R"({"v":1,"speeds":{"n1":2.5}})");
  const Response text = ask(world.token(MLQ_ROLE_JOB, "c", 8), "text");
  check_text(text.body, "n1 2.5\n");
  check_text(text.content_type, "text/plain");
  check_text(ask(world.token(MLQ_ROLE_JOB, "d"), "text").body, "");
  ck_assert_uint_eq(ask(world.token(), "xml").status, 400);
  ck_assert_uint_eq(world.ask(by_tcp("GET", "/v1/speeds", world.token())).status, 400);
}
END_TEST

START_TEST(clusters_may_be_chosen) {
  ServiceOptions options;
  options.clusters = {"c"};
  World world(options);
  ck_assert_uint_eq(world.ask(by_tcp("POST", "/v1/reports", world.token(), losses(0, 0))).status, 200);
  ck_assert_uint_eq(
      world.ask(by_tcp("POST", "/v1/reports", world.token(MLQ_ROLE_JOB, "d"), losses(0, 0))).status, 403);
}
END_TEST

START_TEST(stopped_writer_says_later) {
  World world;
  world.writer().stop();
  const Response response = world.ask(by_tcp("POST", "/v1/reports", world.token(), losses(0, 0)));
  ck_assert_uint_eq(response.status, 503);
  ck_assert_double_gt(response.retry_after, 0);
}
END_TEST

int main() {
  Suite* suite = suite_create("mlqd service");
  TCase* cases = tcase_create("service");
  tcase_set_timeout(cases, 60);
  tcase_add_test(cases, reports_need_a_jobs_token);
  tcase_add_test(cases, expired_tokens);
  tcase_add_test(cases, cycles_come_from_the_scheduler);
  tcase_add_test(cases, status_is_for_local_users);
  tcase_add_test(cases, paths_methods_and_arguments);
  tcase_add_test(cases, a_fast_job_waits_and_others_do_not);
  tcase_add_test(cases, requests_that_begin_together_count_together);
  tcase_add_test(cases, many_requests_wait_too);
  tcase_add_test(cases, agents_need_their_own_jobs_token);
  tcase_add_test(cases, speeds_are_a_users_own);
  tcase_add_test(cases, clusters_may_be_chosen);
  tcase_add_test(cases, stopped_writer_says_later);
  suite_add_tcase(suite, cases);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
