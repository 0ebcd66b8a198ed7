// SPDX-License-Identifier: GPL-2.0-or-later
// Cycles in which something is wrong: with mlqd, with slurmctld, with what users send.
#include <jansson.h>

#include <cmath>
#include <new>

#include "core/wire/wire.hpp"
#include "slurm-plugin/engine/guard.hpp"
#include "tests/unit/engine_bench.hpp"

namespace {

START_TEST(decisions_age_out_and_come_back) {
  Bench bench;
  bench.add(1, MLQ_JOB_PENDING, 1);
  bench.cycle(epoch);
  ck_assert_uint_eq(bench.job(1).site_factor, 10000);
  bench.mlqd.set_mood(FakeMlqd::Mood::refuses);
  bench.cycle(epoch + 59);
  ck_assert_int_eq(bench.pull_rc, -1);
  ck_assert_int_eq(bench.push_rc, -1);
  ck_assert_uint_eq(bench.job(1).site_factor, 10000);
  bench.cycle(epoch + 61);
  ck_assert_uint_eq(bench.job(1).site_factor, 0);
  bench.cycle(epoch + 62);
  bench.mlqd.set_mood(FakeMlqd::Mood::well);
  bench.cycle(epoch + 63);
  ck_assert_uint_eq(bench.job(1).site_factor, 10000);
  ck_assert_uint_eq(said("status 401"), 1);
  ck_assert_uint_eq(said("answers again"), 1);
  ck_assert_uint_eq(said("plain Slurm order"), 1);
}
END_TEST

START_TEST(misbehaving_mlqd_is_survived) {
  Bench bench("mlq_timeout=300");
  bench.add(1, MLQ_JOB_PENDING, 1);
  for (const FakeMlqd::Mood mood : {FakeMlqd::Mood::garbage, FakeMlqd::Mood::floods, FakeMlqd::Mood::hangs}) {
    bench.mlqd.set_mood(mood);
    bench.cycle(epoch);
    ck_assert_int_eq(bench.pull_rc, -1);
    ck_assert_int_eq(bench.decide_rc, 0);
    ck_assert_int_eq(bench.push_rc, -1);
  }
  ck_assert(!mlq_engine_passive(bench.engine.get()));
}
END_TEST

/* A cycle waits one time-out: after a pull that failed, push asks nothing. */
START_TEST(hanging_mlqd_costs_one_timeout) {
  Bench bench("mlq_timeout=300");
  bench.mlqd.set_mood(FakeMlqd::Mood::hangs);
  bench.cycle(epoch);
  ck_assert_int_eq(bench.push_rc, -1);
  ck_assert_uint_eq(bench.mlqd.requests(), 1);
}
END_TEST

START_TEST(new_slurmctld_goes_on) {
  Bench bench;
  bench.add(1, MLQ_JOB_RUNNING, 1);
  bench.add(2, MLQ_JOB_PENDING, 1).restarts = 1;
  bench.add(3, MLQ_JOB_PENDING, 1);
  bench.report_falling(1, 90);
  bench.report_falling(2, 60);
  bench.cycle(epoch);
  const std::uint32_t site = bench.job(2).site_factor;
  bench.restart();
  bench.mlqd.set_mood(FakeMlqd::Mood::refuses);
  bench.cycle(epoch + 1);  // mlqd is not there yet: what the last one decided stays
  ck_assert_uint_eq(bench.job(2).site_factor, site);
  ck_assert_double_eq(*bench.comment(1).iter, 90);
  bench.mlqd.set_mood(FakeMlqd::Mood::well);
  bench.cycle(epoch + 2);
  ck_assert_uint_eq(bench.job(2).site_factor, site);
  ck_assert_double_eq(*bench.comment(1).iter, 90);
  ck_assert_double_eq(*bench.comment(1).core_s, 102);
}
END_TEST

START_TEST(another_store_is_read_from_its_start) {
  Bench bench;
  bench.add(1, MLQ_JOB_RUNNING, 1);
  bench.report_falling(1, 40);
  bench.cycle(epoch);
  bench.mlqd.take_cycles();
  bench.mlqd.set_epoch("second");
  bench.report_falling(1, 10, 2);
  bench.cycle(epoch + 1);
  ck_assert(bench.mlqd.take_cycles().back().find("\"job_id\":1,") != std::string::npos);
  bench.cycle(epoch + 20);
  ck_assert_double_eq(*bench.comment(1).iter, 10);
  ck_assert_uint_eq(said("another store"), 1);
}
END_TEST

START_TEST(jobs_that_vanished_are_told_as_ended) {
  Bench bench;
  bench.mlqd.set_jobs(
      R"([{"job_id":77,"submit":5,"uid":9,"restarts":1,"ended":false},
      {"job_id":1,"submit":1789999000,"uid":0,"restarts":0,"ended":false}])");
  bench.add(1, MLQ_JOB_RUNNING, 1);
  bench.cycle(epoch);
  const std::string first = bench.mlqd.take_cycles().at(0);
  ck_assert(first.find(R"({"job_id":77,"submit":5,"uid":9,"restarts":1,"state":"UNKNOWN","ended":true})") !=
            std::string::npos);
  bench.jobs.clear();
  bench.cycle(epoch + 1);  // one snapshot may have missed it
  ck_assert(bench.mlqd.take_cycles().at(0).find("\"jobs\":[]") != std::string::npos);
  bench.cycle(epoch + 32);
  const std::string second = bench.mlqd.take_cycles().at(0);
  ck_assert(second.find("\"job_id\":77") == std::string::npos);
  ck_assert(second.find("\"state\":\"UNKNOWN\",\"ended\":true") != std::string::npos);
  bench.cycle(epoch + 33);
  ck_assert(bench.mlqd.take_cycles().at(0).find("\"jobs\":[]") != std::string::npos);
}
END_TEST

START_TEST(hostile_jobs) {
  Bench bench;
  const std::string long_text(5000, 'x');
  mlq_job_snapshot_t& job = bench.add(1, MLQ_JOB_RUNNING, 0, "goal=sideways");
  job.name = "\xff\xfe\n\"\\";
  job.user = long_text.c_str();
  job.admin_comment = long_text.c_str();
  bench.add(2, MLQ_JOB_PENDING, 4000000000u, long_text.c_str());
  mlq_job_snapshot_t& empty = bench.add(3, MLQ_JOB_ENDED, 1);
  empty.user = empty.name = empty.request = empty.end_state = nullptr;
  for (const double loss : {1e308, -1e308, std::nan(""), 0.0, 5e-324}) {
    bench.mlqd.add({1, 0, std::isfinite(loss) ? loss : 7, loss, 1e18});
    bench.mlqd.add({1, static_cast<std::int64_t>(epoch) - 1000, 1e18, loss, -1e18});
  }
  bench.cycle(epoch);
  bench.cycle(epoch + 100);
  ck_assert_int_eq(bench.decide_rc, 0);
  ck_assert_int_eq(bench.push_rc, 0);
  ck_assert_str_eq(bench.job(1).admin_comment, long_text.c_str());
  ck_assert_uint_eq(said("failed ("), 0);
  ck_assert_uint_eq(said("not understood"), 2);
  for (const std::string& body : bench.mlqd.take_cycles()) {
    const mlq::wire::Json object(json_loadb(body.data(), body.size(), 0, nullptr));
    ck_assert_ptr_nonnull(object.get());
  }
}
END_TEST

START_TEST(three_strikes) {
  lines.clear();
  mlq::engine::Guard guard{mlq::engine::Log(keep_line)};
  const auto fail = []() -> int { throw std::bad_alloc(); };
  ck_assert_int_eq(guard.run("fit", [] { return 7; }), 7);
  for (unsigned i = 1; i <= 3; i++) {
    ck_assert(!guard.passive());
    ck_assert_int_eq(guard.run("fit", fail), -1);
    ck_assert_uint_eq(guard.strikes(), i);
  }
  ck_assert(guard.passive());
  ck_assert_int_eq(guard.run("fit", [] { return 7; }), -1);
  ck_assert_int_eq(guard.run("fit", []() -> int { throw 1; }), -1);
  ck_assert_uint_eq(guard.strikes(), 3);
  ck_assert_uint_eq(said("passive from now on"), 1);
}
END_TEST

}  // namespace

TCase* failure_cases() {
  TCase* tests = tcase_create("failure");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, decisions_age_out_and_come_back);
  tcase_add_test(tests, misbehaving_mlqd_is_survived);
  tcase_add_test(tests, hanging_mlqd_costs_one_timeout);
  tcase_add_test(tests, new_slurmctld_goes_on);
  tcase_add_test(tests, another_store_is_read_from_its_start);
  tcase_add_test(tests, jobs_that_vanished_are_told_as_ended);
  tcase_add_test(tests, hostile_jobs);
  tcase_add_test(tests, three_strikes);
  return tests;
}
