// SPDX-License-Identifier: GPL-2.0-or-later

#include <cmath>
#include <cstring>
#include <string>

#include "core/wire/agent.hpp"
#include "core/wire/cycle.hpp"
#include "core/wire/report.hpp"
#include "core/wire/wire.hpp"
#include "tests/unit/check_cpp.hpp"

using namespace mlq::wire;

namespace {

std::string points(const char* inner) {
  return std::string(R"({"v":1,"stream":"s","points":[)") + inner + "]}";
}

std::string job(const char* members) {
  return std::string(
             R"({"v":1,"cluster":"c","time":5,"jobs":[{"job_id":1,"submit":9,"uid":0,"restarts":0,)") +
         R"("ended":false,"state":"PENDING")" + members + "}]}";
}

}  // namespace

START_TEST(report_is_read) {
  std::string error;
  const auto report = parse_report(
      R"({"v":1,"extra":[],"stream":"host:12-3","points":[{"n":0,"i":10,"l":0.25,"t":1790000000.25,"c":4},)"
      R"({"n":9007199254740992,"i":-1.5,"l":null,"t":1790000001},{"n":7,"i":1,"l":3,"t":1,"c":null}]})",
      error);
  ck_assert_msg(report.has_value(), "%s", error.c_str());
  check_text(report->stream.c_str(), "host:12-3");
  ck_assert_uint_eq(report->points.size(), 3);
  ck_assert_double_eq(report->points[0].iteration, 10);
  ck_assert_double_eq(report->points[0].loss, 0.25);
  ck_assert_double_eq(report->points[0].time, 1790000000.25);
  ck_assert_double_eq(report->points[0].cores, 4);
  ck_assert_int_eq(report->points[1].n, 9007199254740992);
  ck_assert_double_eq(report->points[1].iteration, -1.5);
  ck_assert(std::isnan(report->points[1].loss));
  ck_assert_double_eq(report->points[1].cores, 0);
  ck_assert_double_eq(report->points[2].loss, 3);
  ck_assert_double_eq(report->points[2].cores, 0);
  ck_assert(parse_report(points(""), error).has_value());
}
END_TEST

// jansson quotes what it could not read and may cut a character in two; an answer with half of one cannot be
// sent
START_TEST(the_reason_is_printable_whatever_came) {
  const std::string bodies[] = {"\"\\\xc6\xab:",    "{\"a\": \xf0\x9f\x98\x80}",
                                "{\"\xc3\xa9\" 1}", "\"\\\xe2\x82\xac\"",
                                "\x1b[31m",         std::string("{\"a\":\0}", 7)};
  for (const std::string& body : bodies) {
    std::string error;
    ck_assert(!parse_object(body, error));
    ck_assert_msg(error.rfind("body is not JSON: line 1, column ", 0) == 0, "%s", error.c_str());
    for (const char c : error) ck_assert_msg(c >= ' ' && c < 0x7f, "%s", error.c_str());
  }
}
END_TEST

START_TEST(report_names_what_is_wrong) {
  const std::string good = R"({"n":1,"i":1,"l":1,"t":1},)";
  const std::string cases[][2] = {
      {"", "body is not JSON: line 1, column 0: "},
      {"[]", "body is an array, a JSON object is needed"},
      {"{\"v\":1", "body is not JSON: line 1, "},
      {"{\"v\":1,\"a\":\"\xff\"}", "body is not JSON: line 1, "},
      {"{}", "v is missing, 1 is allowed"},
      {R"({"v":2})", "v is the number 2, 1 is allowed"},
      {R"({"v":"1"})", "v is a string"},
      {R"({"v":1,"points":[]})", "stream is missing, 1 to 128 graphic"},
      {R"({"v":1,"stream":"","points":[]})", "stream is a string"},
      {R"({"v":1,"stream":"a b","points":[]})", "stream is a string"},
      {R"({"v":1,"stream":"s","points":{}})", "points is an object, an array is needed"},
      {points((good + "7").c_str()), "points[1] is the number 7, an object is needed"},
      {points((good + R"({"i":1,"l":1,"t":1})").c_str()), "points[1].n is missing"},
      {points(R"({"n":-1,"i":1,"l":1,"t":1})"), "points[0].n is the number -1, a whole number from 0"},
      {points(R"({"n":1.0,"i":1,"l":1,"t":1})"), "points[0].n is the number 1"},
      {points(R"({"n":9007199254740993,"i":1,"l":1,"t":1})"), "points[0].n is the number 9007199254740993"},
      {points(R"({"n":1,"i":"x","l":1,"t":1})"), "points[0].i is a string, a number is needed"},
      {points(R"({"n":1,"i":1,"l":"0.5","t":1})"), "points[0].l is a string, a number, or null"},
      {points(R"({"n":1,"i":1,"t":1})"), "points[0].l is missing"},
      {points(R"({"n":1,"i":1,"l":true,"t":1})"), "points[0].l is true"},
      {points(R"({"n":1,"i":1,"l":NaN,"t":1})"), "body is not JSON"},
      {points(R"({"n":1,"i":1,"l":1e999,"t":1})"), "body is not JSON"},
      {points(R"({"n":1,"i":1,"l":1,"t":0})"), "points[0].t is the number 0"},
      {points(R"({"n":1,"i":1,"l":1,"t":1e11})"), "points[0].t is the number 1e+11"},
      {points(R"({"n":1,"i":1,"l":1,"t":null})"), "points[0].t is null"},
      {points(R"({"n":1,"i":1,"l":1,"t":1,"c":0})"), "points[0].c is the number 0"},
      {points(R"({"n":1,"i":1,"l":1,"t":1,"c":"4"})"), "points[0].c is a string"},
  };
  for (const auto& row : cases) {
    std::string error;
    ck_assert_msg(!parse_report(row[0], error), "%s", row[0].c_str());
    ck_assert_msg(error.starts_with(row[1]), "%s: %s", row[0].c_str(), error.c_str());
  }
}
END_TEST

START_TEST(times_of_a_fast_clock_move_together) {
  Report report{"s", {{1, 0, 0, 100, 0}, {2, 0, 0, 130, 0}, {3, 0, 0, 110, 0}}};
  limit_times(report, 120);
  ck_assert_double_eq(report.points[0].time, 90);
  ck_assert_double_eq(report.points[1].time, 120);
  ck_assert_double_eq(report.points[2].time, 100);
  limit_times(report, 500);
  ck_assert_double_eq(report.points[0].time, 90);
}
END_TEST

START_TEST(cycle_is_read) {
  std::string error;
  const auto cycle = parse_cycle(
      R"({"v":1,"cluster":"c1","time":1790000000.5,"mode":"active","weight":10000,"stats":{"pull_ms":1},"jobs":[)"
      R"({"job_id":4294967295,"submit":1790000000,"uid":4294967295,"restarts":2,"ended":true,"end":1790000100,)"
      R"("state":"COMPLETED","user":"ann","name":"n","cores":4,"array_job_id":6,"secret":"x","status":{"rank":1,"new":[1]}},)"
      R"({"job_id":2,"submit":1,"uid":0,"restarts":0,"ended":false,"state":"PENDING","user":null}],)"
      R"("families":[{"name":"f","runs":2,"core_seconds":[1,2]}]})",
      error);
  ck_assert_msg(cycle.has_value(), "%s", error.c_str());
  check_text(cycle->cluster.c_str(), "c1");
  ck_assert_double_eq(cycle->time, 1790000000.5);
  check_text(cycle->data.c_str(),
             R"({"time":1790000000.5,"mode":"active","weight":10000,"stats":{"pull_ms":1}})");
  ck_assert_uint_eq(cycle->jobs.size(), 2);
  const CycleJob& first = cycle->jobs[0];
  ck_assert_uint_eq(first.job_id, 4294967295u);
  ck_assert_uint_eq(first.uid, 4294967295u);
  ck_assert_int_eq(first.submit, 1790000000);
  ck_assert_int_eq(first.end, 1790000100);
  ck_assert_uint_eq(first.restarts, 2);
  ck_assert(first.ended);
  check_text(first.user.c_str(), "ann");
  ck_assert_ptr_null(strstr(first.info.c_str(), "secret"));
  ck_assert_ptr_nonnull(strstr(first.info.c_str(), R"("cores":4)"));
  ck_assert_int_eq(first.array_job_id, 6);
  check_text(first.status->c_str(), R"({"rank":1,"new":[1]})");
  ck_assert(!cycle->jobs[1].status.has_value());
  ck_assert(!cycle->jobs[1].ended);
  check_text(cycle->families[0].name.c_str(), "f");
  check_text(cycle->families[0].data.c_str(), R"({"name":"f","runs":2,"core_seconds":[1,2]})");
}
END_TEST

START_TEST(cycle_names_what_is_wrong) {
  const std::string long_text = ",\"name\":\"" + std::string(4097, 'a') + "\"";
  const std::string long_status = ",\"status\":{\"reason\":\"" + std::string(65536, 'a') + "\"}";
  const std::string cases[][2] = {
      {R"({"v":1,"time":1})", "cluster is missing"},
      {R"({"v":1,"cluster":"a b","time":1})", "cluster is a string"},
      {R"({"v":1,"cluster":"c","time":"now"})", "time is a string"},
      {R"({"v":1,"cluster":"c","time":1,"jobs":7})", "jobs is the number 7, an array is needed"},
      {R"({"v":1,"cluster":"c","time":1,"jobs":[{"job_id":0}]})", "jobs[0].job_id is the number 0"},
      {R"({"v":1,"cluster":"c","time":1,"jobs":[{"job_id":1,"submit":0}]})",
       "jobs[0].submit is the number 0"},
      {job(R"(,"user":7)"), "jobs[0].user is the number 7"},
      {job(R"(,"end":-1)"), "jobs[0].end is the number -1"},
      {job(R"(,"status":[])"), "jobs[0].status is an array"},
      {job(R"(,"ended":0)"), "jobs[0].ended is the number 0"},
      {job(R"(,"state":null)"), "jobs[0].state is null"},
      {job(long_text.c_str()), "jobs[0].name is a string, a string of at most 4096"},
      {job(long_status.c_str()), "jobs[0].status is an object, an object of at most 65536"},
      {R"({"v":1,"cluster":"c","time":1,"families":[{"runs":1}]})", "families[0].name is missing"},
  };
  for (const auto& row : cases) {
    std::string error;
    ck_assert_msg(!parse_cycle(row[0], error), "%.200s", row[0].c_str());
    ck_assert_msg(error.starts_with(row[1]), "%.200s: %s", row[0].c_str(), error.c_str());
  }
}
END_TEST

START_TEST(agent_is_read) {
  std::string error;
  const auto state = parse_agent(
      R"({"v":1,"time":1790000000.5,"phase":"growing","generation":3,"units":5,"ranks":5,"job_id":7,"new":[1],)"
      R"("companions":[{"job_id":8,"units":2,"state":"RUNNING","node":"n1"},{"job_id":9,"units":1,"state":"PENDING"}],)"
      R"("moves":4,"lost_s":12.5,"move_s":3,"speedup_unit":null,"refused":"QOSMaxJobsPerUserLimit","refused_at":5})",
      error);
  ck_assert_msg(state.has_value(), "%s", error.c_str());
  ck_assert_uint_eq(state->job_id, 7);
  ck_assert_double_eq(state->time, 1790000000.5);
  check_text(
      state->data.c_str(),
      R"({"time":1790000000.5,"phase":"growing","units":5,"generation":3,"ranks":5,"moves":4,"lost_s":12.5,"move_s":3,)"
      R"("refused_at":5,"refused":"QOSMaxJobsPerUserLimit","companions":[{"job_id":8,"units":2,"state":"RUNNING"},)"
      R"({"job_id":9,"units":1,"state":"PENDING"}]})");
  const auto least = parse_agent(R"({"v":1,"time":1,"phase":"ending","units":0})", error);
  ck_assert_msg(least.has_value(), "%s", error.c_str());
  ck_assert_uint_eq(least->job_id, 0);
  check_text(least->data.c_str(), R"({"time":1,"phase":"ending","units":0})");
}
END_TEST

START_TEST(agent_names_what_is_wrong) {
  const std::string good = R"({"v":1,"time":1,"phase":"steady","units":2)";
  std::string many = good + R"(,"companions":[)";
  for (int i = 1; i <= 1001; ++i)
    many += (i > 1 ? "," : "") + std::string(R"({"job_id":)") + std::to_string(i) +
            R"(,"units":1,"state":"RUNNING"})";
  const std::string cases[][2] = {
      {"{", "body is not JSON: line 1, "},
      {"7", "body is not JSON"},
      {R"({"v":2})", "v is the number 2, 1 is allowed"},
      {R"({"v":1,"phase":"steady","units":2})", "time is missing, seconds since the epoch"},
      {R"({"v":1,"time":-1,"phase":"steady","units":2})", "time is the number -1"},
      {R"({"v":1,"time":1,"units":2})",
       "phase is missing, steady, growing, shrinking, restarting, saving, saved or ending"},
      {R"({"v":1,"time":1,"phase":"idle","units":2})", "phase is a string"},
      {R"({"v":1,"time":1,"phase":"steady\u0000x","units":2})", "body is not JSON"},
      {R"({"v":1,"time":1,"phase":"steady"})",
       "units is missing, a whole number from 0 to 1000000 is needed"},
      {R"({"v":1,"time":1,"phase":"steady","units":1.5})", "units is the number 1.5"},
      {R"({"v":1,"time":1,"phase":"steady","units":1000001})", "units is the number 1000001"},
      {good + R"(,"job_id":0})", "job_id is the number 0, a whole number from 1"},
      {good + R"(,"generation":-1})", "generation is the number -1"},
      {good + R"(,"ranks":"2"})", "ranks is a string"},
      {good + R"(,"moves":true})", "moves is true"},
      {good + R"(,"lost_s":-0.5})", "lost_s is the number -0.5, a number from 0 to 1e11 is needed"},
      {good + R"(,"move_s":[]})", "move_s is an array"},
      {good + R"(,"speedup_unit":1e300})", "speedup_unit is the number 1e+300"},
      {good + R"(,"refused_at":"now"})", "refused_at is a string"},
      {good + R"(,"refused":7})", "refused is the number 7, a string of at most 1024 bytes"},
      {good + ",\"refused\":\"" + std::string(1025, 'x') + "\"}", "refused is a string, a string of at most"},
      {good + R"(,"saves":1})", "saves is the number 1, true or false is needed"},
      {good + R"(,"left_nodes":"n1"})",
       "left_nodes is a string, an array of at most 1000 names of nodes is needed"},
      {good + R"(,"left_nodes":["n1","a b"]})", "left_nodes is another array"},
      {good + R"(,"left_nodes":[""]})", "left_nodes is another array"},
      {good + R"(,"companions":{}})", "companions is an object, an array of at most 1000 is needed"},
      {many + "]}", "companions is an array of 1001, an array of at most 1000"},
      {good + R"(,"companions":[7]})", "companions[0] is the number 7, an object is needed"},
      {good + R"(,"companions":[{"job_id":0,"units":1,"state":"RUNNING"}]})",
       "companions[0].job_id is the number 0"},
      {good + R"(,"companions":[{"job_id":1,"units":0,"state":"RUNNING"}]})",
       "companions[0].units is the number 0"},
      {good +
           R"(,"companions":[{"job_id":1,"units":1,"state":"RUNNING"},{"job_id":1,"units":1,"state":"COMPLETED"}]})",
       "companions[1].state is a string, PENDING, RUNNING or LEAVING is needed"},
  };
  for (const auto& row : cases) {
    std::string error;
    ck_assert_msg(!parse_agent(row[0], error), "%.200s", row[0].c_str());
    ck_assert_msg(error.starts_with(row[1]), "%.200s: %s", row[0].c_str(), error.c_str());
  }
}
END_TEST

START_TEST(numbers_keep_their_digits) {
  const Json value(json_real(1790000000.123456));
  check_text(to_text(value.get()).c_str(), "1790000000.123456");
  const Json small(json_real(0.1));
  check_text(to_text(small.get()).c_str(), "0.1");
}
END_TEST

int main() {
  Suite* suite = suite_create("wire");
  TCase* cases = tcase_create("messages");
  tcase_add_test(cases, report_is_read);
  tcase_add_test(cases, the_reason_is_printable_whatever_came);
  tcase_add_test(cases, report_names_what_is_wrong);
  tcase_add_test(cases, times_of_a_fast_clock_move_together);
  tcase_add_test(cases, cycle_is_read);
  tcase_add_test(cases, cycle_names_what_is_wrong);
  tcase_add_test(cases, agent_is_read);
  tcase_add_test(cases, agent_names_what_is_wrong);
  tcase_add_test(cases, numbers_keep_their_digits);
  suite_add_tcase(suite, cases);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
