// SPDX-License-Identifier: GPL-2.0-or-later
// What mlq status and mlq explain are made of.
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/check_cpp.hpp"
#include "tools/mlq/collector.hpp"
#include "tools/mlq/error.hpp"
#include "tools/mlq/explanation.hpp"
#include "tools/mlq/format.hpp"
#include "tools/mlq/job_table.hpp"
#include "tools/mlq/job_view.hpp"
#include "tools/mlq/sketch.hpp"

using namespace mlq::cli;

namespace {

void expect(const std::string& got, const std::string& wanted) {
  check_text(got, wanted);
}

template <typename Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool holds(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

JobView from_text(const char* text) {
  const mlq::wire::Json json(json_loads(text, 0, nullptr));
  ck_assert_ptr_nonnull(json.get());
  return read_job(json.get());
}

START_TEST(test_numbers) {
  expect(significant(std::nullopt, 4), "-");
  expect(significant(0.0, 4), "0");
  expect(significant(123456.789, 4), "123457");
  expect(significant(0.00012345, 3), "0.000123");
  expect(significant(0.000012345, 3), "1.23e-05");
  expect(significant(NAN, 3), "nan");
  expect(significant(-INFINITY, 3), "-inf");
  expect(integer(1700.0), "1700");
  expect(integer(1700.5), "1700.5");
  expect(integer(12345678901.0), "12345678901");
  expect(percent(0.8734), "87.3%");
  expect(duration(7.9), "0:07");
  expect(duration(59 * 60 + 59.0), "59:59");
  expect(duration(3723.0), "1:02:03");
  expect(duration(2 * 86400.0), "2-00:00:00");
  expect(duration(-1.0), "-");
  expect(duration(NAN), "-");
}
END_TEST

START_TEST(test_hostile_text) {
  expect(printable("a\033[2Jb\nc\x7f"), "a?[2Jb?c?");
  expect(printable("caf\xc3\xa9"), "caf\xc3\xa9");
  expect(printable("\xc2\x9b"
                   "31m"),
         "?31m");                         // the one-character CSI
  expect(printable("x\xe2\x82"), "x??");  // cut in the middle of a character
  expect(printable("\xc0\xaf"), "??");    // overlong
  ck_assert_uint_eq(width("caf\xc3\xa9"), 4);
}
END_TEST

START_TEST(test_slurm_config) {
  const Place place = parse_slurm_config(
      "Configuration data as of 2026-01-01T00:00:00\n"
      "ClusterName             = alpha\n"
      "SchedulerParameters     = bf_interval=10,xmlq_url=no,mlq_url=http://ctl:6850,mlq_urls=no\n"
      "SchedulerType           = sched/ml_quality\n");
  expect(place.cluster, "alpha");
  expect(place.url, "http://ctl:6850");
  expect(parse_slurm_config("SchedulerParameters     = (null)\n").url, "");
  expect(parse_slurm_config("").cluster, "");
}
END_TEST

/// A PATH whose scontrol prints this.
std::string fake_scontrol(const std::string& output) {
  char folder[] = "/tmp/mlq-test-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  const std::string file = std::string(folder) + "/scontrol";
  std::ofstream(file) << "#!/bin/sh\n[ \"$*\" = 'show config' ] || exit 1\n" << output << "\n";
  chmod(file.c_str(), 0755);
  return folder;
}

START_TEST(test_finds_mlqd) {
  const char* old_path = getenv("PATH");
  const std::string folder = fake_scontrol(
      "echo 'ClusterName = alpha'; echo 'SchedulerParameters = mlq_url=unix:/run/other.sock,x'");
  for (const char* name : {"MLQ_URL", "MLQ_TOKEN", "SLURM_CLUSTER_NAME"}) unsetenv(name);
  setenv("PATH", (folder + ":" + old_path).c_str(), 1);

  Place place = find_collector("", "");
  expect(place.url, "unix:/run/other.sock");
  expect(place.cluster, "alpha");
  expect(find_collector("", "beta").cluster, "beta");
  expect(find_collector("http://h:1/", "").url, "http://h:1");
  setenv("SLURM_CLUSTER_NAME", "gamma", 1);
  expect(find_collector("", "").cluster, "gamma");
  setenv("MLQ_URL", "unix:/run/of-the-job.sock", 1);
  expect(find_collector("", "").url, "unix:/run/of-the-job.sock");
  // a job on another node: the scheduler's socket is not there, the address it reports to is
  setenv("MLQ_URL", "http://ctl:6850", 1);
  expect(find_collector("", "").url, "http://ctl:6850");
  unsetenv("MLQ_URL");

  ck_assert(
      holds(error_of([] { find_collector("ctl:6850", ""); }), "\"ctl:6850\" (from --url); allowed are"));
  unlink((folder + "/scontrol").c_str());
  rmdir(folder.c_str());
  setenv("PATH", folder.c_str(), 1);  // no Slurm at all
  place = find_collector("", "");
  expect(place.url, "unix:/run/mlqd/mlqd.sock");
  expect(place.origin, "the default");
}
END_TEST

START_TEST(test_says_what_to_do) {
  const std::string missing =
      error_of([] { ask({.url = "unix:/nonexistent/s", .origin = "--url", .cluster = ""}, "/v1/jobs?"); });
  ck_assert(holds(missing, "unix:/nonexistent/s (from --url)"));
  ck_assert(holds(missing, "no such socket on this machine"));
  ck_assert(holds(missing, "--url http://HOST:6850"));
  const std::string closed =
      error_of([] { ask({.url = "http://127.0.0.1:1", .origin = "--url", .cluster = ""}, "/v1/jobs?"); });
  ck_assert(holds(closed, "nobody listens there"));
  expect(query("user", "a&b=c d"), "&user=a%26b%3Dc%20d");
}
END_TEST

START_TEST(test_reads_a_job) {
  const JobView job = from_text(
      R"({"job_id": 7, "uid": 1, "user": "ann", "state": "RUNNING", "cores": 4, "start": 0, "ended": false,
          "stored": 12, "last_report": 1000.5,
          "status": {"loss": 0.5, "points": 10, "last_report": 990, "rank": "3",
                     "forecast": {"predicted": 0.25, "lower": null}}})");
  ck_assert_uint_eq(job.job_id, 7);
  ck_assert_double_eq(*job.loss, 0.5);
  ck_assert_double_eq(*job.points, 12);  // mlqd's own count is newer than the scheduler's
  ck_assert_double_eq(*age(job, 1003.5), 3);
  ck_assert_double_eq(*age(job, 900), 0);  // clocks differ
  ck_assert(!job.rank);                    // not a number
  ck_assert(!job.start);
  ck_assert_double_eq(*job.forecast.predicted, 0.25);
  ck_assert(!job.forecast.lower);
  ck_assert(!from_text("{}").loss);
  ck_assert(!from_text(R"({"status": [1]})").loss);

  const mlq::wire::Json json = job_json(job, 1003.5);
  ck_assert(json_is_null(json_object_get(json.get(), "rank")));
  ck_assert_int_eq(json_integer_value(json_object_get(json.get(), "age")), 3);
  ck_assert(json_is_integer(json_object_get(json.get(), "cores")));
}
END_TEST

START_TEST(test_reads_points) {
  const mlq::wire::Json json(
      json_loads("[[1, 0.5, 10, 4], [2, null, 11, null], [\"x\", 1, 1], 3]", 0, nullptr));
  const auto points = read_points(json.get());
  ck_assert_uint_eq(points.size(), 2);
  ck_assert_double_eq(*points[0].cores, 4);
  ck_assert(!points[1].loss);
}
END_TEST

START_TEST(test_order) {
  JobView second, first, unranked, ended;
  first.job_id = 9, first.rank = 1;
  second.job_id = 3, second.rank = 2;
  unranked.job_id = 1;
  ended.job_id = 2, ended.ended = true, ended.rank = 1;
  ck_assert(shown_before(first, second));
  ck_assert(shown_before(second, unranked));
  ck_assert(shown_before(unranked, ended));
  ck_assert(!shown_before(first, first));
}
END_TEST

START_TEST(test_table) {
  JobView a, b;
  a.job_id = 7, a.name = "long-name|x", a.loss = 0.5, a.user = "ann";
  b.job_id = 1234, b.name = "s", b.user = "bo";
  std::vector<std::string> lines =
      format_table({a, b}, parse_format("JobID,name:6,loss,user"), 0, TableStyle::aligned, Header::shown);
  ck_assert_uint_eq(lines.size(), 3);
  expect(lines[0], "JOBID NAME   LOSS USER");
  expect(lines[1], "    7 long-+  0.5 ann");
  expect(lines[2], " 1234 s         - bo");
  lines = format_table({a}, parse_format("jobid,name,loss"), 0, TableStyle::aligned, Header::left_out);
  expect(lines[0], "7 long-name|x 0.5");
  // cut unasked where it would hide what follows
  b.name = std::string(1000, 'n');
  lines = format_table({a, b}, parse_format("jobid,name,loss"), 0, TableStyle::aligned, Header::left_out);
  expect(lines[0], "   7 long-name|x" + std::string(64 - 11, ' ') + " 0.5");
  expect(lines[1], "1234 " + std::string(63, 'n') + "+   -");
  lines = format_table({b}, parse_format("jobid,name"), 0, TableStyle::aligned, Header::left_out);
  expect(lines[0], "1234 " + b.name);
  lines = format_table({b}, parse_format("jobid,name:100,loss"), 0, TableStyle::aligned, Header::left_out);
  expect(lines[0], "1234 " + std::string(99, 'n') + "+ -");
  lines = format_table({b}, parse_format("jobid,name,loss"), 0, TableStyle::parsable, Header::left_out);
  expect(lines[0], "1234|" + b.name + "|-");
  lines = format_table({a}, parse_format("jobid,name:6,loss"), 0, TableStyle::parsable, Header::shown);
  expect(lines[0], "JOBID|NAME|LOSS");
  expect(lines[1], "7|long-name?x|0.5");
  ck_assert_uint_eq(format_table({}, parse_format("all"), 0, TableStyle::parsable, Header::left_out).size(),
                    0);
}
END_TEST

START_TEST(test_format_errors) {
  const std::string unknown = error_of([] { parse_format("jobid,speed"); });
  ck_assert(holds(unknown, "no field \"speed\""));
  ck_assert(holds(unknown, "gainpercore"));
  for (const char* wrong :
       {"", "jobid,", "name:", "name:0", "name:-3", "name:5x", "name:99999999999999999999"})
    ck_assert_msg(!error_of([&] { parse_format(wrong); }).empty(), "%s was taken", wrong);
  ck_assert_uint_eq(parse_format("name:1024")[0].width, 1024);
}
END_TEST

START_TEST(test_sketch) {
  std::vector<CurvePoint> points;
  for (int i = 0; i <= 10; ++i)
    points.push_back({.iteration = 1.0 * i, .loss = 11.0 - i, .time = 0, .cores = {}});
  points.push_back({.iteration = 10, .loss = {}, .time = 0, .cores = {}});
  ForecastView forecast;
  forecast.iterations = 10, forecast.predicted = 3, forecast.lower = 1, forecast.upper = 5;
  const auto lines = sketch(points, forecast, {.columns = 42, .lines = 11});
  ck_assert_uint_eq(lines.size(), 13);
  expect(lines[0], "        11 |*");  // the first and largest
  expect(lines[10].substr(0, 12), "         1 |");
  ck_assert_uint_eq(lines[6].find('|', 12), 41);    // the interval, from 5
  ck_assert_uint_eq(lines[8].find('o'), 41);        // to the predicted 3, at the end
  ck_assert_uint_eq(lines[10].find('*'), 12 + 15);  // iteration 10 is half way to 20
  expect(lines[12], "            0                           20");
}
END_TEST

START_TEST(test_sketch_of_the_largest_losses) {
  const double most = std::numeric_limits<double>::max();
  for (const double least : {-most, 0.0, most / 100}) {  // linear over the whole range, linear, logarithmic
    const std::vector<CurvePoint> points = {{0, most, 0, {}}, {1e-9, most, 0, {}}, {1, least, 0, {}}};
    const auto lines = sketch(points, {}, {.columns = 42, .lines = 11});
    expect(lines[0], "1.798e+308 |*");
    expect(lines[10].substr(lines[10].size() - 1), "*");
    for (const std::string& line : lines)
      ck_assert_msg(line.find("inf") == std::string::npos && line.find("nan") == std::string::npos, "%s",
                    line.c_str());
  }
}
END_TEST

START_TEST(test_sketch_of_little) {
  const CurvePoint one{.iteration = 1, .loss = 2.0, .time = 0, .cores = {}};
  const CurvePoint lost{.iteration = 2, .loss = {}, .time = 0, .cores = {}};
  ck_assert_uint_eq(sketch({}, {}, {}).size(), 0);
  ck_assert_uint_eq(sketch({one, lost}, {}, {}).size(), 0);
  ck_assert_uint_eq(sketch({one, one}, {}, {}).size(), 12);  // no width in either direction
  ForecastView wild;
  wild.iterations = 1e300, wild.predicted = -1e300, wild.lower = 5, wild.upper = 1;  // upside down
  ck_assert_uint_gt(sketch({one, one}, wild, {.columns = 0, .lines = 0}).size(), 0);
}
END_TEST

std::string sentence(const Explanation& lines, const char* label) {
  for (const auto& [name, text] : lines)
    if (name == label) return text;
  return "";
}

START_TEST(test_explains) {
  JobView job = from_text(
      R"({"job_id": 7, "uid": 1, "user": "ann", "name": "net", "state": "RUNNING", "cores": 1, "stored": 5,
          "last_report": 940, "request": "goal=min",
          "status": {"iteration": 5, "loss": 0.5, "first_loss": 2, "best_loss": 0.5, "fraction": 0.5,
                     "gain": 0.02, "gain_per_core": 0.02, "rank": 2, "ranked": 3, "score": 0.5, "site_factor": 5000,
                     "verdict": "noisy", "model": "power", "horizon": 60, "rate": 0.25, "source": "curve",
                     "reason": "because\u001b[31m",
                     "forecast": {"iterations": 15, "now": 0.5, "predicted": 0.4, "lower": 0.3, "upper": 0.6}}})");
  CycleView cycle;
  cycle.weight = 10000;
  const Explanation lines = explain(job, cycle, 1000);
  expect(sentence(lines, "State"), "RUNNING on 1 core");
  expect(sentence(lines, "Reported"), "5 losses, the last at iteration 5: 0.5; first 2, best 0.5; 1:00 ago");
  expect(sentence(lines, "Speed"), "4 seconds an iteration");
  expect(sentence(lines, "Fit"), "noisy: it falls, but by less than the noise (model power)");
  expect(sentence(lines, "Forecast"),
         "in 1:00, 15 iterations: 0.4, with 80 % between 0.3 and 0.6; now, smoothed, 0.5");
  expect(sentence(lines, "Gain"), "2.0% of the reachable reduction in 1:00, 2% per core");
  expect(sentence(lines, "Rank"),
         "2 of 3, score 0.5; adds 5000 of at most 10000 to its priority (SITE in sprio)");
  expect(sentence(lines, "Why"), "because?[31m");

  cycle.mode = "dry-run";
  ck_assert(holds(sentence(explain(job, cycle, 1000), "Rank"), "not applied"));
  job = from_text(R"({"job_id": 8, "uid": 1, "state": "RUNNING"})");
  ck_assert(holds(sentence(explain(job, cycle, 1000), "Reported"), "mlq.attach()"));
  job.state = "PENDING";
  ck_assert(holds(sentence(explain(job, cycle, 1000), "Reported"), "not started"));
}
END_TEST

START_TEST(test_explains_sizes) {
  const JobView job = from_text(
      R"({"job_id": 7, "uid": 1, "state": "RUNNING", "cores": 2,
          "status": {"core_seconds": 500, "usage": {"base": 100, "companions": 300, "earlier": 100, "companion_jobs": 3},
                     "target": {"units": 6, "base": 2, "held": 5, "lead": 30},
                     "resize": {"reason": "6 units: 1 more\u001b", "change": "grew",
                                "companions": [{"job_id": 8, "units": 3, "state": "RUNNING"}, {"job_id": 0}, 7]}},
          "agent": {"phase": "steady", "ranks": 5, "moves": 4, "lost_s": 12.5, "move_s": 3.25, "received": 990,
                    "refused": "QOSMaxJobsPerUserLimit", "refused_at": null}})");
  const Explanation lines = explain(job, {}, 1000);
  expect(sentence(lines, "Size"),
         "5 of 6 units that it is to have, 2 of them its own: 6 units: 1 more?; changed last: grew");
  expect(sentence(lines, "Companions"), "job 8 (3 units, RUNNING)");
  expect(sentence(lines, "Agent"),
         "steady, 5 ranks, 4 moves that cost 12.5 s, the last one 3.25 s; heard 0:10 ago");
  expect(sentence(lines, "Refused"), "QOSMaxJobsPerUserLimit");
  expect(sentence(lines, "Used"), "500 core-seconds, of them 300 by 3 companions, 100 in earlier runs");
  const std::vector<std::string> row =
      format_table({job}, parse_format("held,target,phase,moves,lost,companions"), 0, TableStyle::parsable,
                   Header::left_out);
  expect(row[0], "5|6|steady|4|12.5|8:3");
  const JobView plain =
      from_text(R"({"job_id": 8, "uid": 1, "state": "RUNNING", "status": {"core_seconds": 5}})");
  for (const char* label : {"Size", "Companions", "Agent", "Refused"})
    expect(sentence(explain(plain, {}, 1000), label), "");
  expect(sentence(explain(plain, {}, 1000), "Used"), "5 core-seconds");
}
END_TEST

Suite* make_suite() {
  Suite* suite = suite_create("cli");
  TCase* tests = tcase_create("status and explain");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, test_numbers);
  tcase_add_test(tests, test_hostile_text);
  tcase_add_test(tests, test_slurm_config);
  tcase_add_test(tests, test_finds_mlqd);
  tcase_add_test(tests, test_says_what_to_do);
  tcase_add_test(tests, test_reads_a_job);
  tcase_add_test(tests, test_reads_points);
  tcase_add_test(tests, test_order);
  tcase_add_test(tests, test_table);
  tcase_add_test(tests, test_format_errors);
  tcase_add_test(tests, test_sketch);
  tcase_add_test(tests, test_sketch_of_the_largest_losses);
  tcase_add_test(tests, test_sketch_of_little);
  tcase_add_test(tests, test_explains);
  tcase_add_test(tests, test_explains_sizes);
  suite_add_tcase(suite, tests);
  return suite;
}

}  // namespace

int main() {
  SRunner* runner = srunner_create(make_suite());
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
