// SPDX-License-Identifier: GPL-2.0-or-later
// Whole nodes that running jobs give to ML jobs that wait.
#include "tests/unit/check_cpp.hpp"
#include "tests/unit/resize_bench.hpp"

namespace {

struct NodesBench : ResizeBench {
  explicit NodesBench(const char* extra = "mlq_resize=all",
                      const char* request = "resize=companion,min=4,max=12")
      : ResizeBench({4, 4, 4}, extra) {
    mlq_job_snapshot_t& job = train(1, 12, MLQ_NO_NODE, request);
    job.nodes = 3;
    for (std::uint32_t n = 0; n < 3; n++) {
      used[n] = 4;
      nodes[n].partitions = 1;
    }
  }
  void waits(std::uint32_t id) {
    mlq_job_snapshot_t& job = add(id, MLQ_JOB_PENDING, 4);
    job.partition = "main";
    wait(id, 4);
  }
  /// The nodes that are to be taken out of job 1, "" for no action.
  std::string action() {
    const mlq_node_shrink_t* found = nullptr;
    if (mlq_engine_node_shrinks(engine.get(), &found) == 0) return "";
    ck_assert_uint_eq(found->job_id, 1);
    std::string names;
    for (std::size_t i = 0; i < found->node_count; i++) names += std::string(found->nodes[i]) + " ";
    return names;
  }
  void done(double now, const char* error = nullptr) {
    const mlq_node_shrink_t* found = nullptr;
    ck_assert_uint_eq(mlq_engine_node_shrinks(engine.get(), &found), 1);
    mlq_engine_node_shrink_done(engine.get(), now, found, error);
  }
  std::int64_t keep() { return json_integer_value(json_object_get(target(1), "keep_nodes")); }
};

START_TEST(a_waiting_training_gets_a_node) {
  NodesBench bench;
  bench.turn(epoch);
  ck_assert_int_eq(bench.keep(), 0);
  bench.waits(9);
  bench.turn(epoch + 1);
  ck_assert_int_eq(bench.keep(), 2);
  check_text(bench.action(), "");  // not before its agent has left it
  bench.agents[1].more = R"(,"left_nodes":["n3"])";
  bench.turn(epoch + 2);
  check_text(bench.action(), "n3 ");
  bench.done(epoch + 2, "not now");
  bench.turn(epoch + 3);
  check_text(bench.action(), "");
  bench.turn(epoch + 20);
  check_text(bench.action(), "n3 ");
  bench.done(epoch + 20);
  bench.job(1).nodes = 2;
  bench.job(1).cores = 8;
  bench.used[2] = 0;
  bench.turn(epoch + 21);
  check_text(bench.action(), "");
  // written at once: a slurmctld that ends before the next text is due has no other place to learn it from
  ck_assert_double_eq_tol(*bench.comment(1).shrunk_s, 4 * 120, 0.2);
  ck_assert_int_eq(bench.keep(),
                   0);  // and the other one is not asked for before the waiting job had its chance
  bench.turn(epoch + 30);
  ck_assert_double_eq_tol(*bench.comment(1).shrunk_s, 4 * 120, 0.2);
  ck_assert_double_eq_tol(*bench.comment(1).core_s, 12 * 120 + 8 * 10, 0.2);
  bench.restart();
  bench.turn(epoch + 40);  // another slurmctld looks once more whether what was left is still there
  check_text(bench.action(), "n3 ");
  ck_assert_double_eq_tol(*bench.comment(1).core_s, 12 * 120 + 8 * 20, 0.2);
}
END_TEST

START_TEST(who_keeps_its_nodes) {
  const auto kept = [](NodesBench&& bench, auto change) {
    bench.waits(9);
    change(bench);
    for (int t = 0; t < 5; t++) bench.turn(epoch + t);
    return bench.keep() == 0;
  };
  const auto nothing = [](NodesBench&) {};
  ck_assert(!kept(NodesBench(), nothing));
  ck_assert(kept(NodesBench("mlq_resize=requeue"), nothing));
  ck_assert(kept(NodesBench(""), nothing));
  ck_assert(kept(NodesBench("mlq_resize=all,mlq_mode=dry-run"), nothing));
  ck_assert(kept(NodesBench("mlq_resize=all,mlq_resize_partitions=other"), nothing));
  ck_assert(kept(NodesBench("mlq_resize=all", "resize=companion,min=12,max=12"), nothing));
  ck_assert(kept(NodesBench("mlq_resize=all", "resize=companion,max=12"), nothing));
  ck_assert(kept(NodesBench("mlq_resize=all", "resize=requeue,min=4,max=12"), nothing));
  ck_assert(kept(NodesBench(), [](NodesBench& b) { b.agents[1].phase = "restarting"; }));
  ck_assert(kept(NodesBench(), [](NodesBench& b) { b.job(1).het_job_id = 1; }));  // Slurm would refuse
  ck_assert(kept(NodesBench(), [](NodesBench& b) { b.used[2] = 0; }));  // one is idle: nothing is missing
  ck_assert(kept(NodesBench(), [](NodesBench& b) {
    b.wait(99, 4);
    std::swap(b.waiting.front(), b.waiting.back());  // an ordinary job is first
  }));
}
END_TEST

START_TEST(an_agent_that_does_not_leave_is_not_asked_for_long) {
  NodesBench bench;
  bench.waits(9);
  bench.turn(epoch);
  ck_assert_int_eq(bench.keep(), 2);
  for (int t = 1; t < 72; t++) bench.turn(epoch + t);
  ck_assert_int_eq(bench.keep(), 0);
  for (int t = 72; t < 100; t++) bench.turn(epoch + t);
  ck_assert_int_eq(bench.keep(), 0);
  check_text(bench.action(), "");
}
END_TEST

}  // namespace

TCase* node_cases() {
  TCase* tests = tcase_create("nodes");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, a_waiting_training_gets_a_node);
  tcase_add_test(tests, who_keeps_its_nodes);
  tcase_add_test(tests, an_agent_that_does_not_leave_is_not_asked_for_long);
  return tests;
}
