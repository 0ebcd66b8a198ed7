// SPDX-License-Identifier: GPL-2.0-or-later
// Node speeds: what is taken, what is learnt from it over jobs, and what ranks of a job are shown.
#include "tools/mlqd/speed_table.hpp"

#include "tests/unit/mlqd_fixture.hpp"
#include "tools/mlqd/retention.hpp"

using namespace mlq::mlqd;
using namespace mlq::mlqd::test;
namespace wire = mlq::wire;

namespace {

constexpr double kDay = 86400;
const SpeedKey kKey{"c", 1000, "resnet", "core"};

wire::SpeedReport speeds(const char* node, std::vector<double> speeds, const char* family = "resnet") {
  wire::SpeedReport report{family, "core", node, {}};
  for (const double speed : speeds)
    report.ranks.push_back({static_cast<std::int64_t>(report.ranks.size()), 32, speed});
  return report;
}

void add(Store& store, const wire::SpeedReport& report, double now, const Reporter& reporter = token()) {
  store.begin();
  store.add_speeds(reporter, report, now);
  store.commit();
}

double learnt(Reader& reader, const char* node, double now, const SpeedKey& key = kKey) {
  const wire::Json all = reader.speeds(key, now);
  return json_number_value(json_object_get(all.get(), node));
}

START_TEST(reports_are_checked) {
  const std::string good =
      R"({"v":1,"family":"f","unit":"core","node":"n1","ranks":[[0,32,1.5],[7,0,null]]})";
  std::string error;
  const auto report = wire::parse_speeds(good, error);
  ck_assert(report.has_value());
  check_text(report->node, "n1");
  ck_assert_int_eq(report->ranks[1].rank, 7);
  ck_assert_double_eq(report->ranks[1].speed, 0);
  ck_assert_double_eq(report->median_speed(), 1.5);
  const struct {
    const char *from, *to, *wanted;
  } cases[] = {
      {"\"f\"", "\"\"", "family is a string"},
      {"\"f\"", "\"a b\"", "family is a string"},
      {"\"core\"", "\"cpu\"", "unit is a string"},
      {"\"core\"", "\"0\"", "unit is a string"},
      {"\"n1\"", "\"n 1\"", "node is a string"},
      {"\"n1\"", "7", "node is the number 7"},
      {"[[0,32,1.5],[7,0,null]]", "[]", "ranks is an array of 0"},
      {"[7,0,null]", "[7,0]", "ranks[1] is an array"},
      {"[0,", "[65536,", "ranks[0][0] is the number 65536"},
      {",32,", ",-1,", "ranks[0][1] is the number -1"},
      {"1.5", "0", "ranks[0][2] is the number 0"},
      {"1.5", "1e13", "ranks[0][2] is the number 1e"},
      {"1.5", "\"x\"", "ranks[0][2] is a string"},
  };
  for (const auto& each : cases) {
    std::string bad = good;
    bad.replace(bad.find(each.from), std::string(each.from).size(), each.to);
    ck_assert_msg(!wire::parse_speeds(bad, error), "%s was taken", bad.c_str());
    ck_assert_msg(error.find(each.wanted) == 0, "%s: %s", bad.c_str(), error.c_str());
  }
}
END_TEST

START_TEST(one_report_is_not_believed_blindly) {
  ck_assert_double_eq_tol(learn_speed(100, 100, 30), 100, 1e-9);
  ck_assert_double_le(learn_speed(100, 1e6, 30), 106);
  ck_assert_double_ge(learn_speed(100, 1e-6, 30), 94);
  double speed = 100;
  for (int i = 0; i < 60; ++i) speed = learn_speed(speed, 50, 30);
  ck_assert_double_eq_tol(speed, 50, 0.5);
  // what is a month old gives way at once
  ck_assert_double_le(learn_speed(100, 50, 30 * kDay), 52);
}
END_TEST

START_TEST(speeds_outlive_jobs_and_belong_to_their_user) {
  const Folder folder;
  Store store(folder.file("s"));
  Reader reader(folder.file("s"), 2);
  add(store, speeds("n1", {90, 100, 300}), kNow);
  add(store, speeds("n2", {50, 0}), kNow);
  ck_assert_double_eq(learnt(reader, "n1", kNow), 100);
  ck_assert_double_eq(learnt(reader, "n2", kNow), 50);
  ck_assert_double_eq(learnt(reader, "n3", kNow), 0);
  SpeedKey other = kKey;
  other.uid = 1001;
  ck_assert_double_eq(learnt(reader, "n1", kNow, other), 0);
  other = kKey;
  other.unit = "gpu";
  ck_assert_double_eq(learnt(reader, "n1", kNow, other), 0);
  tell(store, {job(7, kNow - 50, 0, true, kNow + 10)}, kNow + 10);
  add(store, speeds("n1", {110}), kNow + 40, {"c", 8, 1000, 0, kNow + 20});
  ck_assert_double_gt(learnt(reader, "n1", kNow + 40), 100);
  ck_assert_double_gt(learnt(reader, "n1", kNow + 59 * kDay), 100);
  ck_assert_double_eq(learnt(reader, "n1", kNow + 61 * kDay), 0);
  // a report without any speed says who has which batch, and teaches nothing
  add(store, speeds("n4", {0, 0}), kNow);
  ck_assert_double_eq(learnt(reader, "n4", kNow), 0);
}
END_TEST

START_TEST(ranks_of_a_job_are_shown_and_replaced) {
  const Folder folder;
  Store store(folder.file("s"));
  Reader reader(folder.file("s"), 2);
  add(store, speeds("n1", {1, 2}), kNow);
  add(store, speeds("n2", {3}), kNow + 1);
  add(store, speeds("n1", {4, 0}), kNow + 2);
  tell(store, {job(7, kNow - 50)}, kNow + 3);  // the scheduler adopts the provisional entry
  const wire::Json found = reader.job("c", 7, 0, kNow + 4);
  const json_t* batches = json_object_get(found.get(), "batches");
  ck_assert_uint_eq(json_array_size(batches), 2);
  const json_t* first = json_array_get(batches, 0);
  check_text(json_string_value(json_object_get(first, "node")), "n1");
  ck_assert_double_eq(json_number_value(json_object_get(first, "received")), kNow + 2);
  check_text(wire::to_text(json_object_get(first, "ranks")), "[[0,32,4.0],[1,32,null]]");
}
END_TEST

START_TEST(one_user_cannot_fill_the_store) {
  const Folder folder;
  Store store(folder.file("s"));
  Reader reader(folder.file("s"), 2);
  store.begin();
  for (int i = 0; i < SpeedTable::kMaxRows + 50; ++i) {
    const std::string family = "f" + std::to_string(i);
    store.add_speeds(token(), speeds("n1", {1}, family.c_str()), kNow + i);
  }
  store.commit();
  ck_assert_int_eq(count(store, "SELECT count(*) FROM node_speed"), SpeedTable::kMaxRows);
  SpeedKey key = kKey;
  key.family = "f0";
  ck_assert_double_eq(learnt(reader, "n1", kNow + 60, key), 0);  // the oldest went
  key.family = "f50";
  ck_assert_double_eq(learnt(reader, "n1", kNow + 60, key), 1);
}
END_TEST

START_TEST(retention_takes_what_is_old) {
  const Folder folder;
  Store store(folder.file("s"));
  add(store, speeds("n1", {1}), kNow - 200 * kDay);
  add(store, speeds("n2", {1}), kNow, {"c", 9, 1000, 0, kNow});
  Retention retention(store, {});
  while (retention.step(kNow)) {
  }
  ck_assert_int_eq(count(store, "SELECT count(*) FROM node_speed"), 1);
  ck_assert_int_eq(count(store, "SELECT count(*) FROM batch"), 1);
}
END_TEST

}  // namespace

int main() {
  Suite* suite = suite_create("mlqd_speeds");
  TCase* tests = tcase_create("speeds");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, reports_are_checked);
  tcase_add_test(tests, one_report_is_not_believed_blindly);
  tcase_add_test(tests, speeds_outlive_jobs_and_belong_to_their_user);
  tcase_add_test(tests, ranks_of_a_job_are_shown_and_replaced);
  tcase_add_test(tests, one_user_cannot_fill_the_store);
  tcase_add_test(tests, retention_takes_what_is_old);
  suite_add_tcase(suite, tests);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
