// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs with resize=requeue: when another size is worth a restart, and every way that it can go.
#include <cstring>

#include "tests/unit/check_cpp.hpp"
#include "tests/unit/requeue_bench.hpp"

namespace {

START_TEST(announced_before_it_is_told) {
  RequeueBench bench;
  bench.start();
  ck_assert_uint_eq(bench.go(8).size(), 0);  // AdminComment says so first
  holds_text(bench.job(id).admin_comment, R"("requeue":{"n":1,"at":17900000)");
  holds_text(bench.job(id).admin_comment, R"("run":0,"units":8,"iter":60)");
  holds_text(bench.reason(id),
             "8 units, before 2: that pays for a restart; it will be told to save in a moment");
  ck_assert_int_eq(bench.saves, 1);  // so that it is known after a crash
  bench.told();
  ck_assert_uint_eq(bench.actions[0].job_id, id);
  ck_assert(mlq_engine_is_needed(bench.engine.get()));
  const double told_at = bench.at;
  ck_assert_uint_eq(bench.go(told_at + 60).size(), 0);
  holds_text(bench.reason(id), "it was told to save");
}
END_TEST

START_TEST(requeued_after_the_grace_sized_and_seen_to_go_on) {
  RequeueBench bench;
  bench.start();
  bench.told();
  bool found = false;
  for (double end = bench.at + 110; bench.at < end && !found;) {
    for (const mlq_requeue_t& action : bench.go(bench.at + 1)) {
      ck_assert_int_eq(action.kind, MLQ_REQUEUE_NOW);
      holds_text(action.reason, "mlq_requeue_grace is over, to go on with 8 units");
      found = true;
    }
  }
  ck_assert(found);
  ck_assert_double_ge(bench.at, 100);
  bench.done();
  bench.requeued();
  bench.go(bench.at + 1);
  const mlq_sizing_t* sizing = bench.sizing();  // though it is not eligible: nothing waits
  ck_assert_ptr_nonnull(sizing);
  ck_assert_uint_eq(sizing->tasks, 8);
  mlq_engine_size_done(bench.engine.get(), epoch + bench.at, id, bench.job(id).submit_time, nullptr);
  bench.job(id).size.cpus = bench.job(id).size.tasks = 8;
  bench.go(bench.at + 5);
  ck_assert_ptr_null(bench.sizing());
  bench.runs_again(8);
  bench.go(bench.at + 3);
  holds_text(bench.reason(id), "it was requeued and has not reported since");
  bench.report(61, bench.at - 1);
  bench.go(bench.at + 10);
  ck_assert_uint_eq(bench.comment(id).requeue.done, 1);
  ck_assert_double_eq(bench.comment(id).requeue.at, 0);
  ck_assert_double_lt(bench.comment(id).requeue.back, 0);
}
END_TEST

START_TEST(one_that_saved_and_ended_is_requeued_at_once) {
  for (const char* state : {"COMPLETED", "FAILED"}) {
    RequeueBench bench;
    bench.start();
    bench.told();
    bench.job(id).state = MLQ_JOB_ENDED;
    bench.job(id).end_state = state;
    bench.job(id).end_time = static_cast<std::int64_t>(epoch + bench.at);
    ck_assert_uint_eq(bench.go(bench.at + 1).size(), 1);
    ck_assert_int_eq(bench.actions[0].kind, MLQ_REQUEUE_NOW);
    holds_text(bench.actions[0].reason, "it has saved and ended");
  }
  for (const char* state : {"CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"}) {
    RequeueBench bench;
    bench.start();
    bench.told();
    bench.job(id).state = MLQ_JOB_ENDED;
    bench.job(id).end_state = state;
    ck_assert_msg(bench.go(bench.at + 120).empty(), "requeued though %s", state);
    ck_assert(!mlq_engine_is_needed(bench.engine.get()));
  }
  RequeueBench bench;  // it had done all that it states
  bench.start("resize=requeue,min=1,max=8,iterations=600");
  bench.told();
  bench.report(599, bench.at);
  bench.job(id).state = MLQ_JOB_ENDED;
  bench.job(id).end_state = "COMPLETED";
  ck_assert_uint_eq(bench.go(bench.at + 5).size(), 0);
}
END_TEST

START_TEST(an_agent_is_told_over_mlqd_and_says_when_it_has_saved) {
  RequeueBench bench;
  bench.start();
  bench.agent("steady");
  ck_assert_uint_eq(bench.go(30).size(), 0);  // no signal
  const json_t* requeue = json_object_get(bench.target(id), "requeue");
  ck_assert_ptr_nonnull(requeue);
  ck_assert_double_eq(json_number_value(json_object_get(requeue, "grace")), 100);
  ck_assert_int_eq(bench.wanted(id), 8);
  bench.agent("saving");
  ck_assert_uint_eq(bench.go(40).size(), 0);
  bench.agent("saved");
  ck_assert_uint_ge(bench.go(42).size(), 1);
  ck_assert_int_eq(bench.actions[0].kind, MLQ_REQUEUE_NOW);
  holds_text(bench.actions[0].reason, "it has saved, to go on with 8 units");
  RequeueBench other;  // one that ends all the same was over
  other.start();
  other.agent("steady");
  other.go(30);
  other.job(id).state = MLQ_JOB_ENDED;
  other.job(id).end_state = "COMPLETED";
  ck_assert_uint_eq(other.go(40).size(), 0);
}
END_TEST

START_TEST(who_falls_back_is_never_requeued_again) {
  RequeueBench bench;
  bench.start();
  bench.told();
  bench.requeued();
  bench.go(bench.at + 1);
  bench.runs_again(8);
  bench.go(bench.at + 1);
  bench.report(59, bench.at - 1);
  bench.go(bench.at + 10);
  holds_text(bench.job(id).admin_comment, R"("requeue":{"n":1,"iter":60,"back":59})");
  holds_text(bench.reason(id), "it is not requeued again: it went on from iteration 59, though iteration 60");
  bench.restart();  // nor by another slurmctld
  ck_assert_uint_eq(bench.go(bench.at + 60).size(), 0);
  holds_text(bench.reason(id), "it is not requeued again");
}
END_TEST

START_TEST(another_slurmctld_goes_on_where_the_last_one_was) {
  RequeueBench bench;
  bench.start();
  bench.go(10);
  bench.restart();  // announced
  ck_assert_uint_eq(bench.go(30).size(), 1);
  ck_assert_int_eq(bench.actions[0].kind, MLQ_REQUEUE_WARN);
  bench.done();
  bench.restart();  // told: once more, and the grace again
  ck_assert_uint_eq(bench.go(60).size(), 1);
  ck_assert_int_eq(bench.actions[0].kind, MLQ_REQUEUE_WARN);
  ck_assert_uint_eq(bench.comment(id).requeue.done, 1);
  bench.restart();  // it ended meanwhile
  bench.job(id).state = MLQ_JOB_ENDED;
  bench.job(id).end_state = "COMPLETED";
  bench.job(id).end_time = static_cast<std::int64_t>(epoch + bench.at);
  ck_assert_uint_ge(bench.go(bench.at + 2).size(), 1);
  ck_assert_int_eq(bench.actions[0].kind, MLQ_REQUEUE_NOW);
  bench.requeued();
  bench.restart();  // and was requeued
  bench.go(bench.at + 1);
  ck_assert_ptr_nonnull(bench.sizing());
  ck_assert_uint_eq(bench.sizing()->tasks, 8);
}
END_TEST

START_TEST(one_that_ended_before_it_was_told_is_left_as_it_is) {
  RequeueBench bench;
  bench.start();
  bench.go(7);
  ck_assert_uint_eq(bench.comment(id).requeue.done, 1);
  bench.restart();
  bench.job(id).state = MLQ_JOB_ENDED;
  bench.job(id).end_state = "COMPLETED";
  bench.job(id).end_time = static_cast<std::int64_t>(epoch + 7);
  ck_assert_uint_eq(bench.go(60).size(), 0);
}
END_TEST

START_TEST(what_keeps_a_job_at_its_size) {
  const auto why = [](auto change, const char* text) {
    RequeueBench bench;
    bench.start();
    change(bench);
    ck_assert_uint_eq(bench.go(40).size(), 0);
    holds_text(bench.reason(id), text);
  };
  why([](RequeueBench& b) { b.job(id).requeue = false; }, "Slurm may not requeue it (Requeue=0)");
  why([](RequeueBench& b) { b.job(id).request = "resize=requeue"; }, "it names no range of sizes");
  why([](RequeueBench& b) { b.job(id).size.refusal = "it is a job array"; }, "it is a job array");
  why([](RequeueBench& b) { b.wait(99, 4); }, "job 99 waits and would start in its place");
  why([](RequeueBench& b) { b.used[0] = 6; }, "no other size would pay for a restart of 180 s within 600 s");
  RequeueBench off("mlq_resize=companion");
  off.start();
  ck_assert_uint_eq(off.go(40).size(), 0);
  holds_text(off.reason(id), "mlq_resize=companion: the site requeues no job for its size");
  RequeueBench dry("mlq_mode=dry-run");
  dry.start();
  ck_assert_uint_eq(dry.go(40).size(), 0);
  holds_text(dry.reason(id), "8 would pay for a restart; not done: mlq_mode=dry-run");
  ck_assert_uint_eq(said("dry-run: job=7 target=8 held=2"), 1);
  RequeueBench dwell("mlq_dwell=20");
  dwell.start();
  ck_assert_uint_eq(dwell.go(90).size(), 0);  // 200 s from the start of the run
  ck_assert_uint_eq(dwell.go(130).size(), 1);
}
END_TEST

START_TEST(whole_nodes) {
  RequeueBench bench("", {8, 8, 8, 8});
  mlq_job_snapshot_t& job = bench.train(id, 8, 0, "resize=requeue,unit=node,min=1,max=4");
  job.size.cpus = job.size.tasks = 8;
  job.size.cpus_per_task = job.size.min_nodes = job.size.max_nodes = 1;
  job.size.whole_nodes = job.requeue = true;
  bench.agents.clear();
  bench.used[3] = 1;  // no node to be had
  bench.told();
  holds_text(bench.actions[0].reason, "to go on with 3 units");
  bench.requeued();
  bench.go(bench.at + 1);
  ck_assert_ptr_nonnull(bench.sizing());
  ck_assert_uint_eq(bench.sizing()->nodes, 3);
  ck_assert_uint_eq(bench.sizing()->cpus, 24);
}
END_TEST

/// What one is on its way to is not idle for the next; and a job of one node does not get what lies on
/// another.
START_TEST(two_jobs_do_not_want_the_same_cores) {
  RequeueBench bench("", {8, 8});
  bench.start("resize=requeue,min=1,max=14");
  bench.used[1] = 2;
  mlq_job_snapshot_t& other = bench.train(8, 2, 0, "resize=requeue,min=1,max=14");
  other.size = bench.job(id).size;
  other.requeue = true;
  bench.agents.clear();
  bench.go(30);
  ck_assert_uint_eq(bench.actions.size(), 1);
  holds_text(bench.actions[0].reason, "to go on with 6 units");  // of eight the other one has two
  holds_text(bench.reason(bench.actions[0].job_id == id ? 8 : id), "2 units: no other size would pay");
}
END_TEST

START_TEST(no_more_than_five_times) {
  RequeueBench bench;
  bench.start();
  bench.job(id).admin_comment = R"({"mlq":{"v":1,"requeue":{"n":5,"iter":40}}})";
  ck_assert_uint_eq(bench.go(40).size(), 0);
  holds_text(bench.reason(id), "it has been requeued 5 times for its size: that is enough");
}
END_TEST

START_TEST(it_is_taken_back_when_it_would_not_pay_any_more) {
  RequeueBench bench;
  bench.start();
  bench.go(7);
  ck_assert_uint_eq(bench.comment(id).requeue.done, 1);
  bench.wait(99, 4);
  ck_assert_uint_eq(bench.go(40).size(), 0);
  ck_assert_uint_eq(bench.comment(id).requeue.done, 0);
  ck_assert_ptr_null(strstr(bench.job(id).admin_comment, "requeue"));
}
END_TEST

START_TEST(slurms_refusal_ends_it) {
  RequeueBench bench;
  bench.start();
  bench.told();
  int tries = 0;
  for (double end = bench.at + 140; bench.at < end;) {
    if (bench.go(bench.at + 1).empty()) continue;
    tries++;
    bench.done("not now");
  }
  ck_assert_int_eq(tries, 5);
  holds_text(bench.reason(id), "Slurm refused: not now, tried again in");
}
END_TEST

START_TEST(mode_off_finishes_what_was_told_and_begins_nothing) {
  RequeueBench bench;
  bench.start();
  bench.told();
  mlq_config_t off = bench.config;
  off.mode = MLQ_MODE_OFF;
  mlq_engine_configure(bench.engine.get(), &off);
  ck_assert_uint_ge(bench.go(bench.at + 110).size(), 1);
  ck_assert_int_eq(bench.actions[0].kind, MLQ_REQUEUE_NOW);
  RequeueBench other;
  other.start();
  other.go(5);
  mlq_engine_configure(other.engine.get(), &off);
  ck_assert_uint_eq(other.go(60).size(), 0);
}
END_TEST

}  // namespace

TCase* requeue_cases() {
  TCase* tests = tcase_create("requeues");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, announced_before_it_is_told);
  tcase_add_test(tests, requeued_after_the_grace_sized_and_seen_to_go_on);
  tcase_add_test(tests, one_that_saved_and_ended_is_requeued_at_once);
  tcase_add_test(tests, an_agent_is_told_over_mlqd_and_says_when_it_has_saved);
  tcase_add_test(tests, who_falls_back_is_never_requeued_again);
  tcase_add_test(tests, another_slurmctld_goes_on_where_the_last_one_was);
  tcase_add_test(tests, one_that_ended_before_it_was_told_is_left_as_it_is);
  tcase_add_test(tests, what_keeps_a_job_at_its_size);
  tcase_add_test(tests, whole_nodes);
  tcase_add_test(tests, two_jobs_do_not_want_the_same_cores);
  tcase_add_test(tests, no_more_than_five_times);
  tcase_add_test(tests, it_is_taken_back_when_it_would_not_pay_any_more);
  tcase_add_test(tests, slurms_refusal_ends_it);
  tcase_add_test(tests, mode_off_finishes_what_was_told_and_begins_nothing);
  return tests;
}
