// SPDX-License-Identifier: GPL-2.0-or-later
// Whole cycles against a fake mlqd: what is ranked, written and told.
#include <jansson.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/wire/wire.hpp"
#include "slurm-plugin/engine/admin_comment.hpp"
#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/engine/guard.hpp"
#include "tests/unit/fake_mlqd.hpp"
#include "tests/unit/test_engine.hpp"

namespace {

constexpr double epoch = 1790000000;
std::vector<std::string> lines;

void keep_line(mlq_log_level_t, const char* line) {
  lines.emplace_back(line);
}

std::size_t said(const char* part) {
  std::size_t count = 0;
  for (const std::string& line : lines) count += line.find(part) != std::string::npos;
  return count;
}

struct CloseEngine {
  void operator()(mlq_engine_t* engine) const { mlq_engine_destroy(engine); }
};

/// A cluster of a test: an engine, a fake mlqd, and the jobs as slurmctld would show them.
struct Bench {
  explicit Bench(const char* extra = "") {
    lines.clear();
    mlq_config_parse(("mlq_interval=1,mlq_timeout=300,mlq_url=" + mlqd.url() + "," + extra).c_str(), &config,
                     keep_line);
    restart();
  }

  void restart() { engine.reset(mlq_engine_create("c", &config, keep_line)); }

  mlq_job_snapshot_t& add(std::uint32_t id, mlq_job_state_t state, std::uint32_t cores,
                          const char* request = "") {
    mlq_job_snapshot_t job{};
    job.job_id = id;
    job.user_id = 1000 + id;
    job.submit_time = static_cast<std::int64_t>(epoch) - 1000;
    job.state = state;
    job.start_time = state == MLQ_JOB_PENDING ? 0 : static_cast<std::int64_t>(epoch) - 100;
    job.cores = cores;
    job.nodes = 1;
    job.rankable = state == MLQ_JOB_PENDING;
    job.user = "user";
    job.name = "train";
    job.request = request;
    jobs.push_back(job);
    return jobs.back();
  }

  /// A loss that falls as 1/k, an iteration a second from 100 s before the epoch.
  void report_falling(std::uint32_t id, int count, double scale = 1, std::int64_t submit = 0) {
    for (int k = 1; k <= count; k++) {
      mlqd.add({id, submit != 0 ? submit : static_cast<std::int64_t>(epoch) - 1000, static_cast<double>(k),
                scale * (0.1 + 1.0 / k), epoch - 100 + k});
    }
  }

  /// One cycle; applies site factors and comments as the shim would.
  void cycle(double now) {
    const mlq_decision_t* made = nullptr;
    std::size_t count = 0;
    mlq_cycle_stats_t stats{};
    pull_rc = mlq_engine_pull(engine.get(), now);
    decide_rc = mlq_engine_decide(engine.get(), now, jobs.data(), jobs.size(), &made, &count);
    decisions.assign(made, made + count);
    for (const mlq_decision_t& decision : decisions) {
      ck_assert_uint_eq(jobs[decision.index].job_id, decision.job_id);
      if (decision.set_site_factor) jobs[decision.index].site_factor = decision.site_factor;
      if (decision.admin_comment == nullptr) continue;
      texts.push_back(std::make_unique<std::string>(decision.admin_comment));
      jobs[decision.index].admin_comment = texts.back()->c_str();
    }
    push_rc = mlq_engine_push(engine.get(), now, &stats);
  }

  mlq_job_snapshot_t& job(std::uint32_t id) {
    for (mlq_job_snapshot_t& job : jobs) {
      if (job.job_id == id) return job;
    }
    ck_abort_msg("no job %u", id);
  }

  mlq::engine::CommentFields comment(std::uint32_t id) {
    const char* text = job(id).admin_comment;
    const auto fields = mlq::engine::read_comment(text == nullptr ? "" : text);
    ck_assert_msg(fields.has_value(), "job %u has no comment of ours", id);
    return *fields;
  }

  FakeMlqd mlqd;
  mlq_config_t config{};
  std::unique_ptr<mlq_engine_t, CloseEngine> engine;
  std::vector<mlq_job_snapshot_t> jobs;
  std::vector<mlq_decision_t> decisions;
  std::vector<std::unique_ptr<std::string>> texts;
  int pull_rc = 0, decide_rc = 0, push_rc = 0;
};

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
  Bench bench;
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
  Bench bench;
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
      R"([{"job_id":77,"submit":5,"ended":false},{"job_id":1,"submit":1789999000,"ended":false}])");
  bench.add(1, MLQ_JOB_RUNNING, 1);
  bench.cycle(epoch);
  const std::string first = bench.mlqd.take_cycles().at(0);
  ck_assert(first.find("{\"job_id\":77,\"submit\":5,\"state\":\"UNKNOWN\",\"ended\":true}") !=
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
  tcase_add_test(tests, decisions_age_out_and_come_back);
  tcase_add_test(tests, misbehaving_mlqd_is_survived);
  tcase_add_test(tests, hanging_mlqd_costs_one_timeout);
  tcase_add_test(tests, new_slurmctld_goes_on);
  tcase_add_test(tests, last_report_reaches_the_comment);
  tcase_add_test(tests, site_comment_is_kept);
  tcase_add_test(tests, requeue_keeps_the_curve_reuse_does_not);
  tcase_add_test(tests, dry_run_changes_nothing);
  tcase_add_test(tests, off_takes_back_what_was_set);
  tcase_add_test(tests, another_store_is_read_from_its_start);
  tcase_add_test(tests, jobs_that_vanished_are_told_as_ended);
  tcase_add_test(tests, hostile_jobs);
  tcase_add_test(tests, three_strikes);
  return tests;
}
