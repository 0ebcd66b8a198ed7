// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmath>
#include <string>

#include "core/wire/cycle.hpp"
#include "slurm-plugin/engine/cycle_message.hpp"
#include "slurm-plugin/engine/gain_meter.hpp"
#include "slurm-plugin/engine/inbox.hpp"
#include "slurm-plugin/engine/mlqd_client.hpp"
#include "tests/unit/test_engine.hpp"

namespace {

using mlq::engine::FamilyRecord;
using mlq::engine::Inbox;
using mlq::engine::PointsPage;

PointsPage page_of(const std::string& rows, std::uint64_t after = 0) {
  PointsPage page;
  std::string error;
  const std::string body = R"({"v":1,"next":9,"more":true,"epoch":"e","points":[)" + rows + "]}";
  ck_assert_msg(mlq::engine::parse_points(body, after, page, error), "%s", error.c_str());
  return page;
}

START_TEST(good_rows) {
  const PointsPage page =
      page_of("[1,7,1790000000,10,0.5,1790000001.25,4],[2,8,0,11,null,1790000002,null],[3,9,5,1,2,3]");
  ck_assert_uint_eq(page.points.size(), 3);
  ck_assert_uint_eq(page.malformed, 0);
  ck_assert_uint_eq(page.points[0].job_id, 7);
  ck_assert_int_eq(page.points[0].submit, 1790000000);
  ck_assert_double_eq(page.points[0].point.time, 1790000001.25);
  ck_assert_double_eq(page.points[0].point.cores, 4);
  ck_assert(std::isnan(page.points[1].point.loss));
  ck_assert_double_eq(page.points[1].point.cores, 0);
  ck_assert_str_eq(page.epoch.c_str(), "e");
  ck_assert_uint_eq(page.next, 9);
  ck_assert(page.more);
}
END_TEST

START_TEST(bad_rows_are_left_out) {
  const PointsPage page = page_of(
      "[1,0,5,1,2,3,4],[1,-7,5,1,2,3,4],[1,4294967296,5,1,2,3,4],[1,7.5,5,1,2,3,4],[1,7,-5,1,2,3,4],[1,7,5,"
      "null,2,3,4],"
      "[1,7,5,\"1\",2,3,4],[1,7,5,1,\"x\",3,4],[1,7,5,1,2,\"t\",4],[1,7,5,1,2,3,-4],[1,7,5],7,null,{},[1,7,5,"
      "1,2,3,4]");
  ck_assert_uint_eq(page.points.size(), 1);
  ck_assert_uint_eq(page.malformed, 14);
}
END_TEST

/* A server that says "more" without going on must not keep the plugin asking. */
START_TEST(no_endless_pages) {
  ck_assert(!page_of("", 9).more);
}
END_TEST

START_TEST(no_message) {
  PointsPage page;
  std::vector<FamilyRecord> families;
  std::vector<mlq::engine::OpenJob> jobs;
  std::string error;
  for (const char* body :
       {"", "null", "[]", "{}", "<html>", "{\"v\":2,\"next\":1,\"epoch\":\"e\",\"points\":[]}",
        "{\"v\":1,\"next\":-1,\"epoch\":\"e\",\"points\":[]}",
        "{\"v\":1,\"next\":1,\"epoch\":7,\"points\":[]}",
        "{\"v\":1,\"next\":1,\"epoch\":\"e\",\"points\":{}}",
        "{\"v\":1,\"next\":1.5,\"epoch\":\"e\",\"points\":[]}"}) {
    error.clear();
    ck_assert_msg(!mlq::engine::parse_points(body, 0, page, error), "%s", body);
    ck_assert(!error.empty());
    ck_assert(!mlq::engine::parse_families(body, families, error));
    ck_assert(!mlq::engine::parse_jobs(body, jobs, error));
  }
  const std::string deep(100000, '[');
  ck_assert(!mlq::engine::parse_points(deep, 0, page, error));
}
END_TEST

START_TEST(families) {
  std::vector<FamilyRecord> out;
  std::string error;
  ck_assert(mlq::engine::parse_families(
      R"({"v":1,"families":[{"name":"a","runs":3,"core_seconds":[1,2,3,4,5]},{"name":"b","runs":0,"core_seconds":[1,2,3,4,5]},
      {"name":"","runs":1,"core_seconds":[1,2,3,4,5]},{"name":"c","runs":1,"core_seconds":[1,2,3,4]},
      {"name":"d","runs":1,"core_seconds":[0,2,3,4,5]},7]})",
      out, error));
  ck_assert_uint_eq(out.size(), 1);
  ck_assert_uint_eq(out[0].runs, 3);
  ck_assert_double_eq(out[0].mean.core_seconds[4], 5);
}
END_TEST

START_TEST(open_jobs) {
  std::vector<mlq::engine::OpenJob> out;
  std::string error;
  ck_assert(mlq::engine::parse_jobs(
      R"({"v":1,"jobs":[{"job_id":1,"submit":10,"uid":0,"restarts":0,"ended":false},
      {"job_id":2,"submit":10,"uid":0,"restarts":0,"ended":true},{"job_id":3,"submit":0,"uid":1,"restarts":0},
      {"job_id":"4","submit":1,"uid":1,"restarts":0},{"job_id":6,"submit":1,"restarts":0},
      {"job_id":5,"submit":6,"uid":1000,"restarts":2}]})",
      out, error));
  ck_assert_uint_eq(out.size(), 2);
  ck_assert_uint_eq(out[1].job_id, 5);
  ck_assert_uint_eq(out[1].uid, 1000);
  // what is said of one that Slurm has lost is what mlqd takes
  const mlq::wire::Json lost = mlq::engine::orphan_message(out[1]);
  const mlq::wire::Json cycle(
      json_pack("{s:i, s:s, s:i, s:[O]}", "v", 1, "cluster", "c", "time", 9, "jobs", lost.get()));
  const auto taken = mlq::wire::parse_cycle(mlq::wire::to_text(cycle.get()), error);
  ck_assert_msg(taken.has_value(), "%s", error.c_str());
  ck_assert(taken->jobs.at(0).ended);
  ck_assert_uint_eq(taken->jobs.at(0).restarts, 2);
}
END_TEST

void put(Inbox& inbox, std::uint32_t job_id, std::int64_t submit, double iteration, double now = 0) {
  inbox.put({job_id, submit, {iteration, 1, 1, 1}}, now);
}

START_TEST(inbox_matches_jobs) {
  Inbox inbox;
  put(inbox, 7, 100, 1);
  put(inbox, 7, 200, 2);
  put(inbox, 7, 0, 3);
  put(inbox, 8, 100, 9);
  // the id was used by another job before: only its own and the provisional points
  const auto fresh = inbox.take(7, 200, false);
  ck_assert_uint_eq(fresh.size(), 2);
  ck_assert_double_eq(fresh[0].iteration, 2);
  ck_assert_double_eq(fresh[1].iteration, 3);
  put(inbox, 7, 200, 4);
  put(inbox, 7, 400, 5);
  // a requeue set another submit time: what came before is of the same curve, what is newer is not
  const auto requeued = inbox.take(7, 300, true);
  ck_assert_uint_eq(requeued.size(), 2);
  ck_assert_double_eq(requeued[0].iteration, 1);
  ck_assert_double_eq(requeued[1].iteration, 4);
  ck_assert_uint_eq(inbox.take(7, 400, false).size(), 1);
  ck_assert_uint_eq(inbox.take(8, 100, false).size(), 1);
}
END_TEST

START_TEST(inbox_forgets) {
  Inbox inbox;
  put(inbox, 7, 100, 1, 1000);
  put(inbox, 8, 100, 1, 1100);
  inbox.drop_old(1000 + Inbox::keep_s + 1);
  ck_assert_uint_eq(inbox.take(7, 100, false).size(), 0);
  ck_assert_uint_eq(inbox.take(8, 100, false).size(), 1);
}
END_TEST

}  // namespace

TCase* message_cases() {
  TCase* tests = tcase_create("messages");
  tcase_add_test(tests, good_rows);
  tcase_add_test(tests, bad_rows_are_left_out);
  tcase_add_test(tests, no_endless_pages);
  tcase_add_test(tests, no_message);
  tcase_add_test(tests, families);
  tcase_add_test(tests, open_jobs);
  tcase_add_test(tests, inbox_matches_jobs);
  tcase_add_test(tests, inbox_forgets);
  return tests;
}
