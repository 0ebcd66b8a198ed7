// SPDX-License-Identifier: GPL-2.0-or-later
// Sizes of pending jobs: the range that a request names, and what the engine makes of it.
#include "tests/unit/check_cpp.hpp"
#include "tests/unit/sizing_bench.hpp"

namespace {

START_TEST(ranges_of_cores) {
  SizeRange range = range_of("min=2,max=16", tasks(8));
  ck_assert(range.given && range.refusal.empty() && !range.nodes);
  ck_assert_uint_eq(range.min, 2);
  ck_assert_uint_eq(range.max, 16);
  ck_assert_uint_eq(range.asked, 8);
  range = range_of("max=16", tasks(8));  // what is missing is what it asks for
  ck_assert_uint_eq(range.min, 8);
  range = range_of("min=2", tasks(8));
  ck_assert_uint_eq(range.max, 8);
  range = range_of("unit=4,min=1,max=4", tasks(4, 2));
  ck_assert_uint_eq(range.unit, 4);
  ck_assert_uint_eq(range.asked, 2);
  const mlq_sizing_t sizing = sized(range, tasks(4, 2), 3);
  ck_assert_uint_eq(sizing.cpus, 12);
  ck_assert_uint_eq(sizing.tasks, 6);
  ck_assert_uint_eq(sizing.nodes, 0);
  ck_assert(!range_of("", tasks(8)).given);
  ck_assert(!range_of("resize=companion", tasks(8)).given);
  ck_assert(!range_of("companion=7", tasks(8)).given);
  ck_assert(!range_of("off", tasks(8)).given);
  mlq_size_request_t spread = tasks(8);  // a task on each of four nodes at least
  spread.min_nodes = 4;
  ck_assert_uint_eq(range_of("min=1,max=16", spread).min, 4);
}
END_TEST

START_TEST(ranges_of_nodes) {
  mlq_size_request_t size = tasks(4, 2);
  size.min_nodes = 2;
  size.max_nodes = 5;
  SizeRange range = range_of("", size);  // sbatch --nodes=2-5
  ck_assert(range.given && range.nodes && range.refusal.empty());
  ck_assert_uint_eq(range.min, 2);
  ck_assert_uint_eq(range.max, 5);
  ck_assert_uint_eq(range.unit, 4);
  const mlq_sizing_t sizing = sized(range, size, 3);
  ck_assert_uint_eq(sizing.nodes, 3);
  ck_assert_uint_eq(sizing.tasks, 6);
  ck_assert_uint_eq(sizing.cpus, 12);
  size.min_nodes = size.max_nodes = 3;  // after it was sized
  size.tasks = 6;
  size.cpus = 12;
  range = range_of("", size, {2, 5});
  ck_assert(range.given);
  ck_assert_uint_eq(range.min, 2);
  ck_assert_uint_eq(range.max, 5);
  ck_assert_uint_eq(range.asked, 3);
  ck_assert(!range_of("", size).given);
  size.tasks = 7;
  holds_text(range_of("unit=node,min=1,max=4", size).refusal, "cannot be the same number on each");
  size.whole_nodes = size.memory_per_node = true;
  size.tasks_per_node = 2;
  size.tasks = 6;
  check_text(range_of("unit=node,min=1,max=4", size).refusal, "");
}
END_TEST

START_TEST(what_cannot_be_sized_says_why) {
  const auto refused = [](mlq_size_request_t size, const char* text, const char* request = "min=1,max=4") {
    const SizeRange range = range_of(request, size);
    ck_assert(range.given);
    holds_text(range.refusal, text);
  };
  mlq_size_request_t size = tasks(4);
  size.whole_nodes = true;
  refused(size, "takes nodes whole");
  size = tasks(4);
  size.tasks_per_node = 2;
  refused(size, "--ntasks-per-node");
  size = tasks(4);
  size.memory_per_node = true;
  refused(size, "--mem");
  size.max_nodes = 1;
  check_text(range_of("min=1,max=4", size).refusal, "");
  refused(tasks(2, 3), "no multiple of --cpus-per-task=3");
  size = tasks(2);
  size.cpus = 6;
  refused(size, "more CPUs than its tasks need");
  size = tasks(4);
  size.min_nodes = 8;
  refused(size, "fewer tasks than it has nodes");
  size = tasks(4);
  size.refusal = "it is an array";
  refused(size, "it is an array");
}
END_TEST

START_TEST(a_job_that_can_grow_takes_what_is_idle) {
  SizingBench bench({8, 8});
  bench.used = {{0, 5}, {1, 5}};
  bench.ask(1, 16, "min=2,max=16,resize=companion");
  bench.turn(epoch, false);  // the cluster is asked for first
  ck_assert_uint_eq(bench.sizings().size(), 0);
  ck_assert(mlq_engine_wants_cluster(bench.engine.get()));
  bench.turn(epoch + 1);
  ck_assert_uint_eq(bench.sizings().size(), 1);
  const mlq_sizing_t sizing = bench.sizings()[0];
  ck_assert_uint_eq(sizing.tasks, 6);
  ck_assert_uint_eq(sizing.cpus, 6);
  ck_assert_uint_eq(sizing.job_id, 1);
  ck_assert_uint_eq(sizing.before.tasks, 16);
  holds_text(bench.why(1), "size 6 cores of 2 to 16: that many can start now");
  // done: nothing more is wanted while it stays so, also within the dwell time
  mlq_engine_size_done(bench.engine.get(), epoch + 1, 1, sizing.submit_time, nullptr);
  bench.job(1).size = tasks(6);
  bench.waiting[0].cpus = 6;
  bench.turn(epoch + 2);
  ck_assert_uint_eq(bench.sizings().size(), 0);
  bench.used = {{0, 8}, {1, 5}};
  bench.turn(epoch + 3);
  ck_assert_uint_eq(bench.sizings().size(), 0);
  holds_text(bench.why(1), "changed just now");
  bench.turn(epoch + 30);
  ck_assert_uint_eq(bench.sizings().size(), 1);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 3);
}
END_TEST

START_TEST(ordinary_jobs_before_it_keep_their_cores) {
  SizingBench bench({8, 8});
  bench.ask(2, 16, "min=2,max=16,resize=companion");
  bench.waiting.insert(bench.waiting.begin(), bench.waiting[0]);
  bench.waiting[0].job_id = 1;
  bench.waiting[0].priority = 5000;
  bench.waiting[0].cpus = 10;
  bench.turn(epoch);
  ck_assert_uint_eq(bench.sizings().size(), 1);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 6);
  // one behind it gets what the other leaves, and takes nothing from what could start as it is
  std::swap(bench.waiting[0], bench.waiting[1]);
  bench.turn(epoch + 60);
  ck_assert_uint_eq(bench.sizings().size(), 0);
}
END_TEST

START_TEST(nothing_is_changed_outside_the_range_or_when_switched_off) {
  for (const char* extra : {"mlq_sizing=off", "mlq_resize=off", "mlq_mode=dry-run", "mlq_mode=off",
                            "mlq_resize_partitions=other", "mlq_resize_accounts=maths"}) {
    SizingBench bench({8, 8}, extra);
    bench.used = {{0, 5}, {1, 5}};
    bench.ask(1, 16, "min=2,max=16,resize=companion");
    bench.turn(epoch);
    ck_assert_msg(bench.sizings().empty(), "%s", extra);
    if (std::string(extra) != "mlq_mode=off") holds_text(bench.why(1), "size ");
  }
  SizingBench bench({8, 8});
  bench.used = {{0, 8}, {1, 5}};
  bench.ask(1, 16, "min=4,max=16,resize=companion");
  bench.ask(2, 16, "resize=companion");
  bench.ask(3, 16, "min=4,max=16,resize=companion").size.refusal = "it is an array";
  bench.turn(epoch);
  ck_assert_uint_eq(bench.sizings().size(), 0);
  holds_text(bench.why(1), "not even its least has room");
  holds_text(bench.why(3), "size not chosen: it is an array");
  ck_assert_msg(bench.why(2).find("size") == std::string::npos, "%s", bench.why(2).c_str());
}
END_TEST

START_TEST(what_slurm_refuses_is_left_for_a_while) {
  SizingBench bench({8, 8});
  bench.used = {{0, 5}, {1, 5}};
  const std::int64_t submit = bench.ask(1, 16, "min=2,max=16,resize=companion").submit_time;
  bench.turn(epoch);
  ck_assert_uint_eq(bench.sizings().size(), 1);
  mlq_engine_size_done(bench.engine.get(), epoch, 1, submit, "a limit");
  bench.turn(epoch + 60);
  ck_assert_uint_eq(bench.sizings().size(), 0);
  holds_text(bench.why(1), "Slurm refused it: a limit");
  bench.turn(epoch + 601);
  ck_assert_uint_eq(bench.sizings().size(), 1);
}
END_TEST

}  // namespace

TCase* sizing_cases() {
  TCase* tcase = tcase_create("sizing");
  tcase_add_test(tcase, ranges_of_cores);
  tcase_add_test(tcase, ranges_of_nodes);
  tcase_add_test(tcase, what_cannot_be_sized_says_why);
  tcase_add_test(tcase, a_job_that_can_grow_takes_what_is_idle);
  tcase_add_test(tcase, ordinary_jobs_before_it_keep_their_cores);
  tcase_add_test(tcase, nothing_is_changed_outside_the_range_or_when_switched_off);
  tcase_add_test(tcase, what_slurm_refuses_is_left_for_a_while);
  return tcase;
}
