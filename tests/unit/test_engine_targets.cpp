// SPDX-License-Identifier: GPL-2.0-or-later
// Sizes of running jobs: who grows, who gives back, and what each is told.
#include "tests/unit/resize_bench.hpp"

namespace {

START_TEST(idle_cores_are_offered) {
  ResizeBench bench({8, 8});
  bench.train(1, 2, 0, "resize=companion,max=12");
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 12);
  ck_assert_int_eq(bench.granted(1), 10);
  ck_assert_int_eq(json_integer_value(json_object_get(bench.target(1), "base")), 2);
  ck_assert_int_eq(json_integer_value(json_object_get(bench.target(1), "held")), 2);
  ck_assert_int_eq(json_integer_value(json_object_get(bench.target(1), "lead")), 10);
  const json_t* grants = json_object_get(bench.target(1), "grants");
  ck_assert_uint_eq(json_array_size(grants), 2);  // a node's worth, and the rest beside it
  ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(grants, 0), "units")), 8);
  ck_assert_str_eq(json_string_value(json_object_get(json_array_get(grants, 0), "partition")), "main");
  ck_assert(mlq_engine_wants_cluster(bench.engine.get()));
  // what was offered stays offered while the agent asks for it, and is taken off the grants as it comes
  bench.companion(10, 1, 8, 1);
  bench.turn(epoch + 3);
  ck_assert_int_eq(bench.wanted(1), 12);
  ck_assert_int_eq(bench.granted(1), 2);
  bench.companion(11, 1, 2, 0);
  for (int i = 2; i < 40; i++) {
    bench.turn(epoch + 3 * i);
    ck_assert_int_eq(bench.wanted(1), 12);  // and nothing moves afterwards
    ck_assert_int_eq(bench.granted(1), 0);
  }
  holds_text(bench.reason(1), "asks for no more");
}
END_TEST

START_TEST(who_is_not_resized) {
  ResizeBench bench({16}, "mlq_resize_partitions=main+x,mlq_resize_accounts=physics");
  bench.train(1, 1, 0, "resize=none,max=4");
  bench.train(2, 1, 0).partition = "other";
  bench.train(3, 1, 0).account = "maths";
  bench.train(4, 1, 0, "resize=companion,unit=gpu");
  bench.train(5, 1, 0, "resize=companion,unit=4");
  bench.train(6, 1, 0);
  bench.agents.erase(6);
  bench.train(7, 1, 0).state = MLQ_JOB_SUSPENDED;
  bench.train(8, 1, 0, "resize=companion,max=3");
  bench.turn(epoch);
  for (std::uint32_t id = 1; id <= 7; id++)
    ck_assert_msg(bench.target(id) == nullptr, "job %u has a target", id);
  ck_assert_int_eq(bench.wanted(8), 3);
  holds_text(bench.reason(2), "partition other is not in mlq_resize_partitions");
  holds_text(bench.reason(3), "account maths is not in mlq_resize_accounts");
  holds_text(bench.reason(4), "its unit is a GPU, and it has none of its own");
  holds_text(bench.reason(5), "less than a unit");
  holds_text(bench.reason(6), "no agent");
}
END_TEST

START_TEST(off_and_dry_run_hand_out_nothing) {
  {
    ResizeBench bench({8}, "mlq_resize=off");
    bench.train(1, 2, 0);
    bench.turn(epoch);
    ck_assert_ptr_null(bench.target(1));
    ck_assert(!mlq_engine_wants_cluster(bench.engine.get()));
    holds_text(bench.reason(1), "mlq_resize=off");
    // switched off while companions are there: they go home
    bench.companion(10, 1, 3, 0);
    bench.turn(epoch + 3);
    ck_assert_int_eq(bench.wanted(1), 2);
    ck_assert_int_eq(bench.leave(1).at(0), 10);
  }
  ResizeBench bench({8}, "mlq_mode=dry-run");
  bench.train(1, 2, 0, "resize=companion,max=6");
  bench.turn(epoch);
  bench.turn(epoch + 3);
  ck_assert_ptr_null(bench.target(1));
  ck_assert_uint_eq(said("dry-run: job=1 target=6 held=2: "), 1);
}
END_TEST

START_TEST(a_waiting_job_gets_its_cores_back) {
  ResizeBench bench({8, 8});
  bench.train(1, 2, 0, "resize=companion,max=16");
  bench.companion(10, 1, 6, 0, epoch - 50);
  bench.companion(11, 1, 5, 1, epoch - 40);
  bench.companion(12, 1, 3, 1, epoch - 30);
  bench.agents[1].units = 16;
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 16);
  bench.wait(99, 3);
  bench.turn(epoch + 3);  // within the dwell time
  ck_assert_int_eq(bench.wanted(1), 13);
  ck_assert_uint_eq(bench.leave(1).size(), 1);
  ck_assert_int_eq(bench.leave(1).at(0), 12);
  holds_text(bench.reason(1), "job 99 could start");
  bench.turn(epoch + 9);
  ck_assert_uint_eq(bench.endings.size(), 0);
  bench.turn(epoch + 16);  // lead and 3 s later
  ck_assert_uint_eq(bench.endings.size(), 1);
  ck_assert_uint_eq(bench.endings[0].job_id, 12);
  ck_assert_int_eq(bench.endings[0].kind, MLQ_END_OVERSTAYED);
  ck_assert(!bench.endings[0].kill);
  ck_assert_str_eq(bench.endings[0].reason, "job 99 waits for its CPUs");
  bench.turn(epoch + 19);
  ck_assert_uint_eq(bench.endings.size(), 0);  // said once
  bench.turn(epoch + 25);
  ck_assert_uint_eq(bench.endings.size(), 1);
  ck_assert(bench.endings[0].kill);
  // it left, the job started
  bench.remove(12);
  bench.waiting.clear();
  bench.used[1] = 3;
  bench.turn(epoch + 28);
  ck_assert_int_eq(bench.wanted(1), 13);
  ck_assert_uint_eq(bench.leave(1).size(), 0);
  ck_assert_uint_eq(bench.endings.size(), 0);
}
END_TEST

START_TEST(idle_cores_are_kept_for_those_who_wait) {
  ResizeBench bench({8, 8});
  bench.train(1, 2, 0, "resize=companion,max=64");
  bench.wait(99, 8).whole_nodes = true;
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 8);  // the other node is not touched
  ck_assert_int_eq(bench.granted(1), 6);
  // one that could not start with all that is lent either keeps nothing
  ResizeBench large({8, 8});
  large.train(1, 2, 0, "resize=companion,max=64");
  large.wait(99, 15);
  large.turn(epoch);
  ck_assert_int_eq(large.wanted(1), 16);
}
END_TEST

START_TEST(a_job_that_never_starts_keeps_nothing_for_ever) {
  ResizeBench bench({8});
  bench.train(1, 2, 0, "resize=companion,max=64");
  bench.wait(99, 6);
  for (int t = 0; t <= 120; t += 3) {
    bench.turn(epoch + t);
    ck_assert_int_eq(bench.wanted(1), 2);
  }
  for (int t = 123; t <= 129; t += 3) bench.turn(epoch + t);
  ck_assert_int_eq(bench.wanted(1), 8);
}
END_TEST

START_TEST(features_and_nodes_are_respected) {
  ResizeBench bench({8, 8, 8});
  bench.classes.push_back({8, false, "slow", 0});
  bench.nodes[1].node_class = 1;
  bench.nodes[2].partitions = 2;  // of the other partition
  bench.train(1, 2, 0, "resize=companion,max=64").features = "fast&east";
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 8);
  bench.job(1).features = nullptr;
  bench.turn(epoch + 30);
  ck_assert_int_eq(bench.wanted(1), 16);
  // a job that must run on node 1, where a companion is
  bench.companion(10, 1, 6, 0);
  bench.companion(11, 1, 8, 1);
  const unsigned char only[] = {0, 1, 0};
  bench.wait(99, 2).nodes_required = only;
  bench.turn(epoch + 33);
  ck_assert_int_eq(bench.leave(1).at(0), 11);
  bench.waiting[0].nodes_required = nullptr;
  bench.waiting[0].nodes_allowed = only;
  bench.turn(epoch + 36);
  ck_assert_int_eq(bench.leave(1).at(0), 11);
}
END_TEST

START_TEST(refusals_hold_growth_back_longer_and_longer) {
  ResizeBench bench({8});
  bench.train(1, 2, 0, "resize=companion,max=8");
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 8);
  bench.agents[1].refused = "QOSMaxJobsPerUserLimit";
  bench.agents[1].refused_at = epoch + 2;
  bench.turn(epoch + 3);
  ck_assert_int_eq(bench.wanted(1), 2);
  double pause = 60, from = epoch + 3;
  for (int round = 0; round < 3; round++) {
    bench.turn(from + pause - 2);
    holds_text(bench.reason(1), "refused: QOSMaxJobsPerUserLimit");
    bench.turn(from + pause + 21);  // and no dwell time stands in the way
    ck_assert_int_eq(bench.wanted(1), 8);
    from += pause + 24;
    bench.agents[1].refused_at = from - 1;
    bench.turn(from);
    pause *= 2;
  }
}
END_TEST

START_TEST(silent_and_ending_agents_do_not_grow) {
  ResizeBench bench({8});
  bench.train(1, 2, 0, "resize=companion,max=8");
  bench.agents[1].heard = epoch - 31;
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 2);
  holds_text(bench.reason(1), "not heard for 31 s");
  bench.agents[1].heard = -1;
  bench.agents[1].phase = "ending";
  bench.turn(epoch + 3);
  ck_assert_int_eq(bench.wanted(1), 2);
  bench.agents[1].phase = "steady";
  bench.turn(epoch + 6);
  ck_assert_int_eq(bench.wanted(1), 8);
}
END_TEST

START_TEST(without_the_cluster_nothing_changes) {
  ResizeBench bench({8});
  bench.train(1, 2, 0, "resize=companion,max=8");
  bench.turn(epoch);
  bench.companion(10, 1, 6, 0);
  bench.turn(epoch + 3);
  bench.turn(epoch + 6, false);
  ck_assert_int_eq(bench.wanted(1), 8);
  ck_assert_int_eq(bench.granted(1), 0);
  ck_assert_uint_eq(bench.leave(1).size(), 0);
  bench.restart();  // and in the first cycle of a new slurmctld
  bench.turn(epoch + 9, false);
  holds_text(bench.reason(1), "8 units, as before: what the cluster has idle is not known");
}
END_TEST

START_TEST(a_new_slurmctld_takes_over_what_is_there) {
  ResizeBench bench({8, 8});
  bench.train(1, 2, 0, "resize=companion,max=12");
  bench.companion(10, 1, 6, 0);
  bench.companion(11, 1, 4, 1);
  bench.agents[1].units = 12;
  bench.turn(epoch);
  bench.restart();
  bench.mlqd.set_mood(FakeMlqd::Mood::garbage);  // and mlqd is away
  for (int t = 0; t < 60; t += 3) {
    bench.turn(epoch + 10 + t);
    ck_assert_uint_eq(bench.endings.size(), 0);
  }
  bench.mlqd.set_mood(FakeMlqd::Mood::well);
  bench.turn(epoch + 100);
  bench.turn(epoch + 103);
  ck_assert_int_eq(bench.wanted(1), 12);
  ck_assert_uint_eq(bench.endings.size(), 0);
}
END_TEST

/* Units go where they are worth more, by whole companions, and only then. */
START_TEST(units_move_to_the_job_they_are_worth_more_in) {
  ResizeBench bench({16}, "mlq_tail=0.001");
  bench.train(1, 1, 0, "resize=companion,max=16,target=10%");  // reached long ago
  bench.companion(10, 1, 7, 0, epoch - 500);
  bench.companion(11, 1, 7, 0, epoch - 400);
  bench.agents[1].units = 15;
  bench.agents[1].more = R"(,"move_s":1)";
  bench.turn(epoch);
  for (int k = 61; k <= 100; k++)
    bench.mlqd.add(
        {1, static_cast<std::int64_t>(epoch) - 1000, static_cast<double>(k), 0.1 + 1.0 / k, epoch + k});
  for (int t = 3; t < 90; t += 3) {
    bench.turn(epoch + t);
    ck_assert_uint_eq(bench.leave(1).size(), 0);  // nobody gives back for nothing
  }
  bench.train(2, 1, 0, "resize=companion,max=16");
  bench.agents[2].more = R"(,"move_s":1)";
  for (int t = 90; t < 180; t += 3) bench.turn(epoch + t);
  ck_assert_int_le(bench.wanted(1), 8);
  ck_assert_int_ge(bench.wanted(2), 8);
  ck_assert_int_eq(bench.leave(1).at(0), 11);  // the newest
}
END_TEST

/// A job that started just now: its agent has spoken, its training has not.
void start(ResizeBench& bench, std::uint32_t id, std::uint32_t node, const char* request, double now) {
  mlq_job_snapshot_t& job = bench.add(id, MLQ_JOB_RUNNING, 1, request);
  job.start_time = static_cast<std::int64_t>(now);
  job.partition = "main";
  job.node = node;
  bench.agents[id] = {1, "steady", "", 0, -1};
}

/// Job 1 has reached its target long ago, job 2 is on its way; together they hold all that can be lent.
void settle_two(ResizeBench& bench) {
  bench.train(1, 1, 0, "resize=companion,max=8,target=10%");
  bench.companion(10, 1, 7, 0, epoch - 500);
  bench.agents[1].units = 8;
  bench.agents[1].more = R"(,"move_s":1)";
  bench.train(2, 1, 1, "resize=companion,max=8");
  bench.companion(11, 2, 7, 1, epoch - 400);
  bench.agents[2].units = 8;
  bench.agents[2].more = R"(,"move_s":1)";
  bench.turn(epoch);
  for (int k = 61; k <= 100; k++)
    bench.mlqd.add(
        {1, static_cast<std::int64_t>(epoch) - 1000, static_cast<double>(k), 0.1 + 1.0 / k, epoch + k});
  for (int t = 3; t < 60; t += 3) bench.turn(epoch + t);
  ck_assert_int_eq(bench.wanted(1), 8);
  ck_assert_int_eq(bench.wanted(2), 8);
}

START_TEST(a_job_that_has_not_reported_is_given_units_to_show_itself) {
  ResizeBench alone({8});
  start(alone, 1, 0, "resize=companion,max=6", epoch);
  alone.turn(epoch);
  ck_assert_int_eq(alone.wanted(1), 6);
  // not for ever: one that says nothing keeps what nobody wants, and gives it to the next
  alone.companion(10, 1, 5, 0, epoch + 1);
  alone.agents[1].units = 6;
  for (int t = 3; t <= 150; t += 3) alone.turn(epoch + t);
  ck_assert_int_eq(alone.wanted(1), 6);
  start(alone, 2, 0, "resize=companion,max=7", epoch + 153);
  alone.turn(epoch + 153);
  ck_assert_int_eq(alone.wanted(1), 1);
  ck_assert_int_eq(alone.wanted(2), 7);
  // nothing idle: from the job that has reached its target, not from the other one
  ResizeBench bench({8, 9}, "mlq_tail=0.001");
  settle_two(bench);
  start(bench, 3, 1, "resize=companion,max=16", epoch + 58);
  bench.turn(epoch + 60);
  ck_assert_int_gt(bench.wanted(3), 1);
  ck_assert_int_eq(bench.wanted(1), 1);
  ck_assert_int_eq(bench.wanted(2), 8);
}
END_TEST

/* What others leave is asked for before they have gone, unless they may take too long. */
START_TEST(what_is_being_left_is_offered_at_once) {
  for (const bool soon : {true, false}) {
    ResizeBench bench({8, 9}, soon ? "mlq_tail=0.001,mlq_lead=40" : "mlq_tail=0.001,mlq_lead=60");
    settle_two(bench);
    start(bench, 3, 1, "resize=companion,max=8", epoch + 58);
    bench.turn(epoch + 60);
    ck_assert_int_eq(bench.leave(1).at(0), 10);
    ck_assert_int_eq(bench.wanted(3), 8);
    ck_assert_int_eq(bench.granted(3), soon ? 7 : 0);
    bench.remove(10);
    bench.agents[1].units = 1;
    bench.turn(epoch + 63);
    ck_assert_int_eq(bench.granted(3), 7);
    bench.companion(12, 3, 7, 0, epoch + 64);
    bench.turn(epoch + 66);
    ck_assert_int_eq(bench.granted(3), 0);
    ck_assert_int_eq(bench.wanted(3), 8);
  }
}
END_TEST

START_TEST(a_batch_bounds_the_ranks) {
  ResizeBench bench({16});
  bench.train(1, 2, 0, "resize=companion,batch=5");
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 5);
}
END_TEST

START_TEST(units_of_four_cores_and_of_nodes) {
  ResizeBench bench({8, 6, 3});
  bench.train(1, 4, 0, "resize=companion,unit=4");
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 3);  // one beside it, one on the second node, none on the third
  ck_assert_int_eq(bench.granted(1), 2);
  ResizeBench nodes({8, 8, 8});
  nodes.train(1, 8, 0, "resize=companion,unit=node");
  nodes.used[1] = 1;
  nodes.turn(epoch);
  ck_assert_int_eq(nodes.wanted(1), 2);
  ck_assert_int_eq(nodes.granted(1), 1);
}
END_TEST

}  // namespace

TCase* target_cases() {
  TCase* tests = tcase_create("targets");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, idle_cores_are_offered);
  tcase_add_test(tests, who_is_not_resized);
  tcase_add_test(tests, off_and_dry_run_hand_out_nothing);
  tcase_add_test(tests, a_waiting_job_gets_its_cores_back);
  tcase_add_test(tests, idle_cores_are_kept_for_those_who_wait);
  tcase_add_test(tests, a_job_that_never_starts_keeps_nothing_for_ever);
  tcase_add_test(tests, features_and_nodes_are_respected);
  tcase_add_test(tests, refusals_hold_growth_back_longer_and_longer);
  tcase_add_test(tests, silent_and_ending_agents_do_not_grow);
  tcase_add_test(tests, without_the_cluster_nothing_changes);
  tcase_add_test(tests, a_new_slurmctld_takes_over_what_is_there);
  tcase_add_test(tests, units_move_to_the_job_they_are_worth_more_in);
  tcase_add_test(tests, a_job_that_has_not_reported_is_given_units_to_show_itself);
  tcase_add_test(tests, what_is_being_left_is_offered_at_once);
  tcase_add_test(tests, a_batch_bounds_the_ranks);
  tcase_add_test(tests, units_of_four_cores_and_of_nodes);
  return tests;
}
