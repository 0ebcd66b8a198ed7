// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/simulation/metrics.hpp"
#include "core/simulation/simulator.hpp"
// clang-format off
// Last: its macro `fail` breaks <ios>.
#include <check.h>
// clang-format on

namespace {

using namespace mlq::simulation;

Trace exponential_trace(const std::string& name, double speed, int iterations) {
  std::string csv = "step,loss\n", why;
  for (int k = 1; k <= iterations; ++k)
    csv += std::to_string(k) + "," + std::to_string(1 + std::exp(-speed * k)) + "\n";
  return *parse_trace(name, csv, mlq::Goal::min, why);
}

SimJob job_of(std::uint64_t key, double arrival, double work, const Trace& trace, std::uint32_t max = 64) {
  SimJob job;
  job.key = key;
  job.arrival = arrival;
  job.rate = {0, work, 0};
  job.max_cores = max;
  job.reported = trace.losses;
  return job;
}

RunResult run(const SimConfig& config, const std::vector<SimJob>& jobs, const std::vector<Trace>& traces,
              const char* policy = "fair") {
  return simulate(config, jobs, traces, *mlq::make_policy(policy));
}

START_TEST(trace_fractions) {
  std::string why;
  const auto trace = parse_trace("t", "step,loss\n1,10\n2,6\n3,7\n4,nan\n5,2\n", mlq::Goal::min, why);
  ck_assert(trace.has_value());
  ck_assert_uint_eq(trace->iterations(), 5);
  ck_assert_double_eq_tol(trace->fraction_at(1), 0, 1e-12);
  ck_assert_double_eq_tol(trace->fraction_at(2), 0.5, 1e-12);
  ck_assert_double_eq_tol(trace->fraction_at(1.5), 0.25, 1e-12);
  ck_assert_double_eq_tol(trace->fraction_at(4), 0.5, 1e-12);  // a rise and a NaN undo nothing
  ck_assert_double_eq_tol(trace->fraction_at(99), 1, 1e-12);
  ck_assert_double_eq_tol(trace->progress_to(0.25), 1.5, 1e-12);
  ck_assert_double_eq_tol(trace->progress_to(0.75), 4.5, 1e-12);
  ck_assert_double_eq(trace->progress_to(0), 0);
  const auto rising = parse_trace("t", "loss\n1\n2\n3\n4\n9\n", mlq::Goal::max, why);
  ck_assert(rising.has_value());
  ck_assert_double_eq_tol(rising->fraction_at(3), 0.25, 1e-12);
}
END_TEST

START_TEST(bad_traces_are_refused_with_the_reason) {
  std::string why;
  ck_assert(!parse_trace("t", "", mlq::Goal::min, why));
  ck_assert_str_eq(why.c_str(), "it is empty");
  ck_assert(!parse_trace("t", "step,accuracy\n1,2\n", mlq::Goal::min, why));
  ck_assert(why.find("column loss") != std::string::npos);
  ck_assert(!parse_trace("t", "step,loss\n1,2\n2,x\n", mlq::Goal::min, why));
  ck_assert(why.find("line 3") != std::string::npos);
  ck_assert(!parse_trace("t", "step,loss\n1,2\n2,1\n", mlq::Goal::min, why));
  ck_assert(why.find("2 points") != std::string::npos);
  ck_assert(!parse_trace("t", "loss\n1\n2\n3\n4\n9\n", mlq::Goal::min, why));
  ck_assert(!parse_trace("t", "loss\nnan\nnan\nnan\ninf\n1e999\n", mlq::Goal::min, why));
}
END_TEST

START_TEST(workload_files) {
  std::string why;
  std::vector<WorkloadEntry> entries;
  ck_assert(
      parse_workload("name,time,application,num_replicas,batch_size\na-0,107,a,2,128\r\n", entries, why));
  ck_assert_uint_eq(entries.size(), 1);
  ck_assert_double_eq(entries[0].time, 107);
  ck_assert_double_eq(entries[0].batch, 128);
  ck_assert(!parse_workload("name,time,application,num_replicas,batch_size\na-0,-1,a,2,128\n", entries, why));
  ck_assert(!parse_workload("name,time\n", entries, why));
  std::vector<ScalingSample> samples;
  ck_assert(
      parse_scaling("num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,2,64,1.5,0.1\n", samples, why));
  ck_assert_double_eq(samples[0].seconds, 1.5);
}
END_TEST

START_TEST(scaling_is_fitted) {
  std::vector<ScalingSample> samples;
  for (double replicas : {1.0, 2.0, 4.0, 8.0})
    for (double local : {8.0, 16.0, 32.0, 64.0, 128.0})
      samples.push_back({replicas, local, 0.1 + local / 100});
  const mlq::RateModel model = scaling_of(samples, 64);  // 0.1 + 0.64 / replicas
  for (double replicas : {1.0, 2.0, 4.0, 8.0})
    ck_assert_double_eq_tol(1 / model.rate(replicas), 0.1 + 0.64 / replicas, 0.01);
  ck_assert(!scaling_of({}, 64).known());
}
END_TEST

START_TEST(one_job_takes_its_work_over_its_cores) {
  const std::vector<Trace> traces{exponential_trace("a", 0.1, 50)};
  SimConfig config;
  config.pools = {{20, 1}};
  const RunResult result = run(config, {job_of(1, 100, 8, traces[0], 16)}, traces);
  ck_assert_double_eq_tol(result.jobs[0].finish - 100, 50 * 8 / 16.0, 1e-6);
  ck_assert_double_eq_tol(result.jobs[0].time_to[3], traces[0].progress_to(0.9) * 8 / 16, 1e-6);
  ck_assert_double_eq_tol(result.jobs[0].core_seconds, 400, 1e-6);
  ck_assert_double_eq_tol(result.jobs[0].alone, 25, 1e-6);
  ck_assert_uint_eq(result.jobs[0].moves, 0);
}
END_TEST

START_TEST(moves_cost_time) {
  const std::vector<Trace> traces{exponential_trace("a", 0.1, 50)};
  SimConfig config;
  config.pools = {{16, 1}};
  config.move_cost = 5;
  config.interval = 1000;
  // Alone for 10 s, then halved (5 s pause), then alone again (5 s pause).
  const RunResult result = run(config, {job_of(1, 0, 8, traces[0]), job_of(2, 10, 8, traces[0])}, traces);
  ck_assert_uint_eq(result.jobs[0].moves, 1);
  ck_assert_double_eq_tol(result.jobs[0].finish, 10 + 5 + (400 - 160) / 8.0, 1e-6);
  ck_assert_uint_eq(result.jobs[1].moves, 1);
}
END_TEST

START_TEST(fast_nodes_are_fast) {
  const std::vector<Trace> traces{exponential_trace("a", 0.1, 50)};
  SimConfig config;
  config.pools = {{4, 2}, {8, 1}};
  const RunResult result = run(config, {job_of(1, 0, 8, traces[0])}, traces);
  ck_assert_double_eq_tol(result.jobs[0].finish, 400 / 16.0, 1e-6);
}
END_TEST

START_TEST(failures_delay_and_nodes_come_back) {
  const std::vector<Trace> traces{exponential_trace("a", 0.1, 50)};
  SimConfig config;
  config.pools = {{64, 1}};
  std::vector<SimJob> jobs;
  for (int i = 0; i < 10; ++i) jobs.push_back(job_of(i + 1, i, 800, traces[0]));
  const double calm = summarise(run(config, jobs, traces)).mean_finish;
  config.failures = 100;
  config.repair = 50;
  const Summary stormy = summarise(run(config, jobs, traces));
  ck_assert_double_gt(stormy.mean_finish, calm * 1.05);
  ck_assert_double_lt(stormy.mean_finish, calm * 3);
  ck_assert(summarise(run(config, jobs, traces)).mean_finish == stormy.mean_finish);
}
END_TEST

std::vector<SimJob> small_draw(const std::vector<Trace>& traces, double load, double noise = 0) {
  DrawOptions options;
  options.jobs = 40;
  options.load = load;
  options.cluster_cores = 64;
  options.max_cores = 16;
  options.noise = noise;
  return draw_jobs(traces, options);
}

START_TEST(the_draw_has_its_load) {
  const std::vector<Trace> traces{exponential_trace("a", 0.1, 50), exponential_trace("b", 0.02, 150)};
  const auto jobs = small_draw(traces, 0.8);
  double work = 0;
  for (const SimJob& job : jobs) work += job.rate.work * static_cast<double>(traces[job.trace].iterations());
  ck_assert_double_eq_tol(work / (64 * 15 * 40), 0.8, 1e-9);
  ck_assert_double_eq_tol(jobs.back().arrival / 39, 15, 3);
  ck_assert(std::is_sorted(jobs.begin(), jobs.end(), [](auto& a, auto& b) { return a.arrival < b.arrival; }));
  ck_assert(small_draw(traces, 0.8)[17].rate.work == jobs[17].rate.work);
}
END_TEST

START_TEST(no_capacity_is_invented_or_lost) {
  const std::vector<Trace> traces{exponential_trace("a", 0.1, 50), exponential_trace("b", 0.02, 150)};
  const auto jobs = small_draw(traces, 1.0);
  SimConfig config;
  config.pools = {{64, 1}};
  for (std::string_view policy : mlq::policy_names()) {
    const RunResult result = run(config, jobs, traces, std::string(policy).c_str());
    for (const Sample& sample : result.samples)
      ck_assert_double_le(sample.cores[0] + sample.cores[1] + sample.cores[2], 64 + 1e-6);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const JobResult& job = result.jobs[i];
      // Linear scaling and free moves: a job uses exactly its work.
      const double work = jobs[i].rate.work * static_cast<double>(traces[jobs[i].trace].iterations());
      ck_assert_double_eq_tol(job.core_seconds, work, 1e-6 * work);
      ck_assert_double_ge(job.finish - job.arrival, job.alone * (1 - 1e-9));
      for (std::size_t m = 1; m < milestones.size(); ++m)
        ck_assert_double_ge(job.time_to[m], job.time_to[m - 1]);
      ck_assert_double_le(job.time_to.back(), job.finish - job.arrival + 1e-6);
    }
  }
}
END_TEST

START_TEST(quality_reaches_targets_sooner_and_ends_no_later) {
  const std::vector<Trace> traces{exponential_trace("a", 0.1, 120), exponential_trace("b", 0.05, 150),
                                  exponential_trace("c", 0.2, 100)};
  const auto jobs = small_draw(traces, 1.2);
  SimConfig config;
  config.pools = {{64, 1}};
  const Summary fair = summarise(run(config, jobs, traces, "fair"));
  const Summary mlq = summarise(run(config, jobs, traces, "mlq"));
  const Summary oracle = summarise(run(config, jobs, traces, "oracle"));
  ck_assert_double_lt(mlq.time_to[3], 0.6 * fair.time_to[3]);
  ck_assert_double_lt(oracle.time_to[3], 0.6 * fair.time_to[3]);
  ck_assert_double_le(mlq.mean_finish, 1.02 * fair.mean_finish);
}
END_TEST

// When a long job ends beside a stream of short ones that is nearly all the cluster can do: shortest first
// lets it wait till the stream ends.
double end_of_the_long_one(const char* policy, double short_work, bool ends_stated,
                           const mlq::PolicyOptions& options = {}) {
  const std::vector<Trace> traces{exponential_trace("a", 0.1, 50)};
  std::vector<SimJob> jobs{job_of(1, 0, 120, traces[0])};
  for (int i = 1; i < 300; ++i) jobs.push_back(job_of(i + 1, 10 * i, short_work, traces[0], 16));
  for (SimJob& job : jobs) job.says_iterations = ends_stated;
  SimConfig config;
  config.pools = {{64, 1}};
  return simulate(config, jobs, traces, *mlq::make_policy(policy, options)).jobs[0].finish;
}

START_TEST(a_stream_of_short_jobs_does_not_starve_a_long_one) {
  mlq::PolicyOptions unbounded;
  unbounded.slack = 1e9;
  for (double short_work : {12.5, 12.7}) {  // 98 and 99 % of the cluster
    const double fair = end_of_the_long_one("fair", short_work, true);
    ck_assert_double_gt(end_of_the_long_one("mlq", short_work, true, unbounded), 3 * fair);
    ck_assert_double_lt(end_of_the_long_one("mlq", short_work, true), 1.25 * fair);
  }
  // Nobody knows how much it has to do: it is counted with twice what is done.
  const double fair = end_of_the_long_one("fair", 12.5, false);
  ck_assert_double_gt(end_of_the_long_one("mlq", 12.5, false, unbounded), 4 * fair);
  ck_assert_double_lt(end_of_the_long_one("mlq", 12.5, false), 3 * fair);
}
END_TEST

START_TEST(reports_may_be_late_and_noisy) {
  const std::vector<Trace> traces{exponential_trace("a", 0.1, 50)};
  const auto jobs = small_draw(traces, 1.0, 0.02);
  ck_assert(jobs[0].reported != traces[0].losses);
  ck_assert_double_eq(jobs[39].arrival, small_draw(traces, 1.0)[39].arrival);  // noise draws no other jobs
  SimConfig config;
  config.pools = {{64, 1}};
  config.report_delay = 30;
  const Summary late = summarise(run(config, jobs, traces, "mlq"));
  ck_assert(std::isfinite(late.mean_finish));
  ck_assert_double_gt(late.time_to[4], 0);
}
END_TEST

START_TEST(summary_of_a_run) {
  RunResult result;
  result.jobs = {{0, 10, {1, 2, 3, 4, 5, 6}, 5, 0, 1}, {10, 40, {3, 4, 5, 6, 7, 8}, 30, 0, 2}};
  result.samples = {{0, 10, 0.5, 1, {1, 1, 2}}, {10, 10, 0.1, 2, {4, 0, 0}}};
  result.held_core_seconds = 50;
  result.capacity_core_seconds = 100;
  const Summary summary = summarise(result);
  ck_assert_double_eq_tol(summary.time_to[3], 5, 1e-12);
  ck_assert_double_eq_tol(summary.mean_finish, 20, 1e-12);
  ck_assert_double_eq_tol(summary.p99_finish, 30, 1e-12);
  ck_assert_double_eq_tol(summary.moves, 3, 1e-12);
  ck_assert_double_eq_tol(summary.share[0], 50.0 / 80, 1e-12);
  ck_assert_double_eq_tol(summary.mean_norm_loss, 0.5, 1e-12);  // until the last arrival
  ck_assert_double_eq_tol(summary.utilisation, 0.5, 1e-12);
  ck_assert_double_eq_tol(summary.jain, 1.5 * 1.5 / (2 * 1.25), 1e-12);
}
END_TEST

}  // namespace

int main() {
  Suite* suite = suite_create("simulation");
  TCase* tests = tcase_create("simulation");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, trace_fractions);
  tcase_add_test(tests, bad_traces_are_refused_with_the_reason);
  tcase_add_test(tests, workload_files);
  tcase_add_test(tests, scaling_is_fitted);
  tcase_add_test(tests, one_job_takes_its_work_over_its_cores);
  tcase_add_test(tests, moves_cost_time);
  tcase_add_test(tests, fast_nodes_are_fast);
  tcase_add_test(tests, failures_delay_and_nodes_come_back);
  tcase_add_test(tests, the_draw_has_its_load);
  tcase_add_test(tests, no_capacity_is_invented_or_lost);
  tcase_add_test(tests, quality_reaches_targets_sooner_and_ends_no_later);
  tcase_add_test(tests, a_stream_of_short_jobs_does_not_starve_a_long_one);
  tcase_add_test(tests, reports_may_be_late_and_noisy);
  tcase_add_test(tests, summary_of_a_run);
  suite_add_tcase(suite, tests);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
