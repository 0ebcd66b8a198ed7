// SPDX-License-Identifier: GPL-2.0-or-later
// Whole cycles against a fake mlqd: what is ranked, written and told.
#include "tests/unit/engine_bench.hpp"

namespace {

START_TEST(smaller_jobs_of_equal_gain_go_first) {
  Bench bench;
  bench.add(1, MLQ_JOB_PENDING, 8);
  bench.add(2, MLQ_JOB_PENDING, 2);
  bench.add(3, MLQ_JOB_PENDING, 4);
  bench.cycle(epoch);
  ck_assert_int_eq(bench.pull_rc, 0);
  ck_assert_int_eq(bench.push_rc, 0);
  ck_assert_uint_eq(bench.job(2).site_factor, 10000);
  ck_assert_uint_eq(bench.job(3).site_factor, 5000);
  ck_assert_uint_eq(bench.job(1).site_factor, 2500);
  ck_assert_uint_eq(bench.comment(2).ranks.at(0), 1);
  ck_assert_uint_eq(bench.comment(1).ranks.at(0), 3);
}
END_TEST

START_TEST(what_must_not_be_ranked) {
  Bench bench;
  bench.add(1, MLQ_JOB_PENDING, 1).rankable = false;
  bench.add(2, MLQ_JOB_PENDING, 1, "off");
  bench.add(3, MLQ_JOB_RUNNING, 1);
  bench.add(4, MLQ_JOB_PENDING, 4);
  bench.cycle(epoch);
  ck_assert_uint_eq(bench.job(1).site_factor, 0);
  ck_assert_uint_eq(bench.job(2).site_factor, 0);
  ck_assert_uint_eq(bench.job(3).site_factor, 0);
  ck_assert_uint_eq(bench.job(4).site_factor, 10000);
  ck_assert_ptr_null(bench.job(2).admin_comment);
  for (const std::string& body : bench.mlqd.take_cycles())
    ck_assert(body.find("\"job_id\":2,") == std::string::npos);
}
END_TEST

/* A requeued job keeps its curve: one that has nearly converged goes behind one that has not started. */
START_TEST(converged_goes_behind_fresh) {
  Bench bench;
  mlq_job_snapshot_t& old = bench.add(1, MLQ_JOB_PENDING, 1);
  old.restarts = 1;
  bench.add(2, MLQ_JOB_PENDING, 1);
  bench.report_falling(1, 90);
  bench.cycle(epoch);
  ck_assert_uint_eq(bench.job(2).site_factor, 10000);
  ck_assert_uint_lt(bench.job(1).site_factor, 5000);
  const auto cycles = bench.mlqd.take_cycles();
  ck_assert(cycles.back().find("\"source\":\"curve\"") != std::string::npos);
  ck_assert(cycles.back().find("\"source\":\"optimistic\"") != std::string::npos);
}
END_TEST

START_TEST(no_iterations_left_no_gain) {
  Bench bench;
  bench.add(1, MLQ_JOB_PENDING, 1, "iterations=20").restarts = 1;
  bench.add(2, MLQ_JOB_PENDING, 1, "iterations=1000000").restarts = 1;
  bench.report_falling(1, 20);
  bench.report_falling(2, 20);
  bench.cycle(epoch);
  ck_assert_uint_eq(bench.job(1).site_factor, 0);
  ck_assert_uint_eq(bench.job(2).site_factor, 10000);
}
END_TEST

START_TEST(target_reached_no_gain) {
  Bench bench;
  bench.add(1, MLQ_JOB_PENDING, 1, "target=10%").restarts = 1;
  bench.add(2, MLQ_JOB_PENDING, 1, "target=99.9%").restarts = 1;
  bench.report_falling(1, 20);
  bench.report_falling(2, 20);
  bench.cycle(epoch);
  ck_assert_uint_eq(bench.job(1).site_factor, 0);
  ck_assert_uint_eq(bench.job(2).site_factor, 10000);
}
END_TEST

START_TEST(family_prior_is_used) {
  Bench bench;
  bench.mlqd.set_families(R"([{"name":"slow","runs":4,"core_seconds":[1e6,2e6,4e6,8e6,9e6]},
                             {"name":"fast","runs":4,"core_seconds":[1,2,4,8,9]}])");
  bench.add(1, MLQ_JOB_PENDING, 1, "family=slow");
  bench.add(2, MLQ_JOB_PENDING, 1, "family=fast");
  bench.cycle(epoch);
  ck_assert_uint_eq(bench.job(2).site_factor, 10000);
  ck_assert_uint_lt(bench.job(1).site_factor, 1000);
  ck_assert(bench.mlqd.take_cycles().back().find("4 earlier runs") != std::string::npos);
}
END_TEST

START_TEST(finished_run_teaches_its_family) {
  Bench bench;
  bench.add(1, MLQ_JOB_RUNNING, 2, "family=f");
  bench.report_falling(1, 100);
  bench.cycle(epoch);
  bench.job(1).state = MLQ_JOB_ENDED;
  bench.job(1).end_state = "COMPLETED";
  bench.job(1).end_time = static_cast<std::int64_t>(epoch);
  bench.cycle(epoch + 1);
  bench.cycle(epoch + 2);
  bench.cycle(epoch + 3);
  std::size_t told = 0;
  for (const std::string& body : bench.mlqd.take_cycles())
    told += body.find("\"name\":\"f\",\"runs\":1") != std::string::npos;
  ck_assert_uint_eq(told, 1);
  // and a slurmctld that starts now does not count it again
  bench.restart();
  bench.cycle(epoch + 4);
  bench.cycle(epoch + 5);
  bench.cycle(epoch + 6);
  for (const std::string& body : bench.mlqd.take_cycles())
    ck_assert(body.find("\"families\":[]") != std::string::npos);
}
END_TEST

START_TEST(last_report_reaches_the_comment) {
  Bench bench;
  bench.add(1, MLQ_JOB_RUNNING, 3);
  bench.report_falling(1, 50);
  bench.cycle(epoch);
  ck_assert(!bench.comment(1).final);
  bench.job(1).state = MLQ_JOB_ENDED;
  bench.job(1).end_state = "COMPLETED";
  bench.job(1).end_time = static_cast<std::int64_t>(epoch) + 1;
  bench.cycle(epoch + 2);
  ck_assert(!bench.comment(1).final);  // mlqd is asked once more first
  bench.mlqd.add({1, static_cast<std::int64_t>(epoch) - 1000, 51, 0.0625, epoch + 1});
  bench.cycle(epoch + 3);
  ck_assert(bench.comment(1).final);
  ck_assert_double_eq(*bench.comment(1).loss, 0.0625);
  ck_assert_double_eq(*bench.comment(1).iter, 51);
  ck_assert_double_eq(*bench.comment(1).core_s, 303);
  bench.cycle(epoch + 4);
  ck_assert_uint_eq(bench.decisions.size(), 0);
  bench.mlqd.add({1, static_cast<std::int64_t>(epoch) - 1000, 52, 0.03125, epoch + 1});  // a straggler
  bench.cycle(epoch + 5);
  ck_assert_double_eq(*bench.comment(1).loss, 0.03125);
  bench.cycle(epoch + 6);
  ck_assert_uint_eq(bench.decisions.size(), 0);
}
END_TEST

START_TEST(site_comment_is_kept) {
  Bench bench;
  bench.add(1, MLQ_JOB_RUNNING, 1).admin_comment = "charge to 42";
  bench.cycle(epoch);
  ck_assert(std::strstr(bench.job(1).admin_comment, "{\"site\":\"charge to 42\",\"mlq\":{") ==
            bench.job(1).admin_comment);
}
END_TEST

/* A requeue sets a new submit time; id reuse does too, but starts from nothing. */
START_TEST(requeue_keeps_the_curve_reuse_does_not) {
  Bench bench;
  bench.add(1, MLQ_JOB_RUNNING, 2);
  bench.report_falling(1, 50);
  bench.cycle(epoch);
  mlq_job_snapshot_t& job = bench.job(1);
  job.state = MLQ_JOB_PENDING;
  job.rankable = true;
  job.restarts = 1;
  job.start_time = 0;
  job.submit_time = static_cast<std::int64_t>(epoch) + 10;
  bench.cycle(epoch + 60);
  ck_assert_double_eq(*bench.comment(1).iter, 50);
  ck_assert_double_eq(*bench.comment(1).core_s, 200);  // of the run until it was seen last
  job.restarts = 0;
  job.submit_time = static_cast<std::int64_t>(epoch) + 100;
  job.admin_comment = nullptr;
  bench.cycle(epoch + 120);
  ck_assert(!bench.comment(1).iter.has_value());
}
END_TEST

START_TEST(dry_run_changes_nothing) {
  Bench bench("mlq_mode=dry-run");
  bench.add(1, MLQ_JOB_PENDING, 1);
  bench.add(2, MLQ_JOB_RUNNING, 1);
  bench.cycle(epoch);
  bench.cycle(epoch + 1);
  ck_assert_uint_eq(bench.decisions.size(), 0);
  ck_assert_ptr_null(bench.job(2).admin_comment);
  ck_assert_uint_eq(said("dry-run: job=1 site_factor=10000 rank=1 ranked=1"), 1);
  ck_assert(bench.mlqd.take_cycles().at(0).find("\"mode\":\"dry-run\"") != std::string::npos);
}
END_TEST

START_TEST(off_takes_back_what_was_set) {
  Bench bench;
  bench.add(1, MLQ_JOB_PENDING, 1);
  bench.add(2, MLQ_JOB_PENDING, 1);
  bench.cycle(epoch);
  bench.config.mode = MLQ_MODE_OFF;
  mlq_engine_configure(bench.engine.get(), &bench.config);
  bench.add(3, MLQ_JOB_PENDING, 1).site_factor = 77;  // somebody else's
  bench.cycle(epoch + 1);
  ck_assert_uint_eq(bench.job(1).site_factor, 0);
  ck_assert_uint_eq(bench.job(3).site_factor, 77);
  bench.job(2).site_factor = 5000;
  bench.restart();  // it started with "off": the comment tells whose the factor is
  bench.cycle(epoch + 2);
  ck_assert_uint_eq(bench.job(2).site_factor, 0);
  ck_assert_uint_eq(bench.job(3).site_factor, 77);
}
END_TEST

}  // namespace

TCase* cycle_cases() {
  TCase* tests = tcase_create("cycle");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, smaller_jobs_of_equal_gain_go_first);
  tcase_add_test(tests, what_must_not_be_ranked);
  tcase_add_test(tests, converged_goes_behind_fresh);
  tcase_add_test(tests, no_iterations_left_no_gain);
  tcase_add_test(tests, target_reached_no_gain);
  tcase_add_test(tests, family_prior_is_used);
  tcase_add_test(tests, finished_run_teaches_its_family);
  tcase_add_test(tests, last_report_reaches_the_comment);
  tcase_add_test(tests, site_comment_is_kept);
  tcase_add_test(tests, requeue_keeps_the_curve_reuse_does_not);
  tcase_add_test(tests, dry_run_changes_nothing);
  tcase_add_test(tests, off_takes_back_what_was_set);
  return tests;
}
