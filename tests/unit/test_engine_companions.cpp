// SPDX-License-Identifier: GPL-2.0-or-later
// Companions: never ranked, counted to their job, ended without it.
#include "tests/unit/resize_bench.hpp"

namespace {

START_TEST(a_companion_is_no_ml_job_of_its_own) {
  ResizeBench bench({8});
  bench.train(1, 2, 0);
  mlq_job_snapshot_t& pending = bench.companion(10, 1, 2, MLQ_NO_NODE);
  pending.state = MLQ_JOB_PENDING;
  pending.start_time = 0;
  pending.rankable = true;
  bench.add(3, MLQ_JOB_PENDING, 2);
  bench.turn(epoch);
  ck_assert_uint_eq(bench.job(10).site_factor, 0);
  ck_assert_uint_eq(bench.job(3).site_factor, 10000);
  ck_assert_ptr_null(bench.job(10).admin_comment);
  ck_assert(!bench.statuses.contains(10));
  const json_t* list = json_object_get(json_object_get(bench.statuses[1].get(), "resize"), "companions");
  const std::string text = mlq::wire::to_text(list);
  ck_assert_msg(text == R"([{"job_id":10,"units":2,"state":"PENDING"}])", "%s", text.c_str());
}
END_TEST

START_TEST(core_seconds_count_to_the_parent) {
  ResizeBench bench({8});
  bench.train(1, 2, 0).start_time = static_cast<std::int64_t>(epoch) - 100;
  bench.companion(10, 1, 3, 0, epoch - 50);
  bench.companion(11, 1, 1, 0, epoch - 20);
  bench.job(11).user_id = 4711;  // somebody else's
  bench.turn(epoch);
  ck_assert_double_eq(*bench.comment(1).core_s, 200 + 150);
  bench.job(10).state = MLQ_JOB_ENDED;
  bench.job(10).end_time = static_cast<std::int64_t>(epoch) + 10;
  bench.turn(epoch + 20);
  ck_assert_double_eq(*bench.comment(1).core_s, 240 + 180);
  ck_assert_double_eq(*bench.comment(1).companion_s, 180);
  // another slurmctld sees the ended companion again, and counts it once
  bench.restart();
  bench.turn(epoch + 30);
  bench.turn(epoch + 40);
  ck_assert_double_eq(*bench.comment(1).core_s, 280 + 180);
  bench.remove(10);
  bench.companion(12, 1, 4, 0, epoch + 40);
  bench.job(1).state = MLQ_JOB_ENDED;
  bench.job(1).end_state = "COMPLETED";
  bench.job(1).end_time = static_cast<std::int64_t>(epoch) + 50;
  bench.turn(epoch + 50);
  ck_assert(!bench.comment(1).final);  // a companion still runs
  bench.job(12).state = MLQ_JOB_ENDED;
  bench.job(12).end_time = static_cast<std::int64_t>(epoch) + 55;
  bench.turn(epoch + 56);
  bench.turn(epoch + 57);
  ck_assert(bench.comment(1).final);
  ck_assert_double_eq(*bench.comment(1).core_s, 300 + 180 + 60);
  const json_t* usage = json_object_get(bench.statuses[1].get(), "usage");
  ck_assert_double_eq(json_number_value(json_object_get(usage, "base")), 300);
  ck_assert_double_eq(json_number_value(json_object_get(usage, "companions")), 240);
}
END_TEST

START_TEST(a_requeue_keeps_what_was_used) {
  ResizeBench bench({8});
  bench.train(1, 2, 0).start_time = static_cast<std::int64_t>(epoch) - 100;
  bench.companion(10, 1, 3, 0, epoch - 50);
  bench.turn(epoch);
  bench.job(10).state = MLQ_JOB_ENDED;
  bench.job(10).end_time = static_cast<std::int64_t>(epoch) + 1;
  bench.job(1).restarts = 1;
  bench.job(1).state = MLQ_JOB_PENDING;
  bench.job(1).start_time = 0;
  bench.turn(epoch + 10);
  bench.job(1).state = MLQ_JOB_RUNNING;
  bench.job(1).start_time = static_cast<std::int64_t>(epoch) + 100;
  bench.turn(epoch + 110);
  ck_assert_double_eq(*bench.comment(1).core_s, 200 + 153 + 20);
  ck_assert_double_eq(*bench.comment(1).core_s_before, 200);
}
END_TEST

START_TEST(orphans_are_ended_in_any_mode) {
  for (const char* mode : {"mlq_mode=active", "mlq_mode=dry-run", "mlq_mode=off"}) {
    ResizeBench bench({16}, mode);
    bench.train(1, 1, 0);
    bench.train(2, 1, 0).state = MLQ_JOB_ENDED;
    bench.train(3, 1, 0).state = MLQ_JOB_PENDING;
    bench.train(4, 1, 0).state = MLQ_JOB_SUSPENDED;
    bench.companion(10, 1, 1, 0);
    bench.companion(11, 2, 1, 0);
    bench.companion(12, 3, 1, 0);
    bench.companion(13, 4, 1, 0);
    bench.companion(14, 77, 1, 0);                // no such job
    bench.companion(15, 1, 1, 0).user_id = 4711;  // another user's
    bench.companion(16, 2, 1, MLQ_NO_NODE).state = MLQ_JOB_PENDING;
    bench.companion(17, 2, 1, 0).state = MLQ_JOB_ENDED;
    bench.turn(epoch);
    std::map<std::uint32_t, bool> ended;
    for (const mlq_ending_t& ending : bench.endings) {
      ck_assert_int_eq(ending.kind, MLQ_END_ORPHAN);
      ended[ending.job_id] = ending.kill;
    }
    ck_assert_uint_eq(ended.size(), 5);
    for (const std::uint32_t id : {11, 12, 14, 15, 16}) ck_assert_msg(ended.contains(id), "%u", id);
    ck_assert(!ended[11]);
    ck_assert(ended[16]);  // nothing of a pending job could leave by itself
    ck_assert(mlq_engine_is_needed(bench.engine.get()));
    bench.turn(epoch + 3);
    ck_assert_uint_eq(bench.endings.size(), 1);  // the pending one again; the others were asked to go
    bench.turn(epoch + 9);
    for (const mlq_ending_t& ending : bench.endings) ck_assert(ending.kill);
    ck_assert_uint_eq(bench.endings.size(), 5);
  }
}
END_TEST

START_TEST(overstaying_is_only_ended_by_an_active_engine) {
  ResizeBench bench({8}, "mlq_mode=dry-run");
  bench.train(1, 2, 0);
  bench.companion(10, 1, 6, 0);
  bench.wait(99, 6);
  for (int t = 0; t < 60; t += 3) {
    bench.turn(epoch + t);
    ck_assert_uint_eq(bench.endings.size(), 0);
  }
}
END_TEST

START_TEST(speed_is_learnt_by_the_size_that_was_held) {
  ResizeBench bench({16});
  mlq_job_snapshot_t& job = bench.add(1, MLQ_JOB_RUNNING, 2, "resize=companion,max=8");
  job.partition = "main";
  job.node = 0;
  job.start_time = static_cast<std::int64_t>(epoch) - 200;
  bench.agents[1] = {2, "steady", "", 0, epoch - 199};
  bench.turn(epoch - 199);
  double time = epoch - 198;
  int k = 1;
  for (; k <= 100; k++, time += 1)
    bench.mlqd.add({1, static_cast<std::int64_t>(epoch) - 1000, static_cast<double>(k), 0.1 + 1.0 / k, time});
  bench.turn(epoch - 90);
  bench.companion(10, 1, 6, 0, epoch - 95);
  bench.agents[1] = {8, "steady", "", 0, epoch - 90};
  bench.turn(epoch - 89);
  for (time = epoch - 85; k <= 300; k++, time += 0.25)
    bench.mlqd.add({1, static_cast<std::int64_t>(epoch) - 1000, static_cast<double>(k), 0.1 + 1.0 / k, time});
  bench.agents[1].heard = -1;
  bench.turn(epoch - 20);
  // four times the cores, four times as fast: told for the cores that it holds
  ck_assert_double_eq_tol(json_number_value(json_object_get(bench.statuses[1].get(), "rate")), 4, 0.2);
}
END_TEST

// What lies beyond a job's own target is worth nothing: its cores go to one that is short of its own.
START_TEST(an_own_target_is_what_cores_are_dealt_out_for) {
  for (const bool passed : {true, false}) {
    ResizeBench bench({16});
    // The curves fall to 0.117, towards 0.1.
    bench.train(1, 1, 0,
                passed ? "resize=companion,max=16,target=0.3" : "resize=companion,max=16,target=0.11");
    bench.train(2, 1, 0,
                passed ? "resize=companion,max=16,target=0.11" : "resize=companion,max=16,target=0.3");
    for (int t = 0; t < 30; t += 3) bench.turn(epoch + t);
    ck_assert_int_eq(bench.wanted(passed ? 1 : 2), 1);
    ck_assert_int_eq(bench.wanted(passed ? 2 : 1), 15);
  }
}
END_TEST

}  // namespace

TCase* companion_cases() {
  TCase* tests = tcase_create("companions");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, a_companion_is_no_ml_job_of_its_own);
  tcase_add_test(tests, core_seconds_count_to_the_parent);
  tcase_add_test(tests, a_requeue_keeps_what_was_used);
  tcase_add_test(tests, orphans_are_ended_in_any_mode);
  tcase_add_test(tests, overstaying_is_only_ended_by_an_active_engine);
  tcase_add_test(tests, speed_is_learnt_by_the_size_that_was_held);
  tcase_add_test(tests, an_own_target_is_what_cores_are_dealt_out_for);
  return tests;
}
