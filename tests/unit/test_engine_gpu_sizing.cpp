// SPDX-License-Identifier: GPL-2.0-or-later
// Sizes of pending jobs that count in GPUs: the range in their own terms, and what is idle for them.
#include "tests/unit/check_cpp.hpp"
#include "tests/unit/requeue_bench.hpp"
#include "tests/unit/sizing_bench.hpp"

namespace {

mlq_size_request_t with_gpus(mlq_size_request_t size, mlq_gpus_of_t of, std::uint32_t gpus) {
  size.gpus_of = of;
  size.gpus = gpus;
  size.cpus_per_node = size.cpus_per_task;
  if (of == MLQ_GPUS_OF_NODE) size.max_nodes = 1;
  return size;
}

void check_range(const SizeRange& range, std::uint32_t min, std::uint32_t max, std::uint32_t asked) {
  check_text(range.refusal, "");
  ck_assert(range.given);
  ck_assert_uint_eq(range.min, min);
  ck_assert_uint_eq(range.max, max);
  ck_assert_uint_eq(range.asked, asked);
}

/// GPUs as its request says them, tasks, CPUs, and CPUs of a task where those change.
void check_sized(const SizeRange& range, const mlq_size_request_t& size, std::uint32_t units,
                 std::uint32_t gpus, std::uint32_t count, std::uint32_t cpus, std::uint32_t per_task = 0) {
  const mlq_sizing_t sizing = sized(range, size, units);
  ck_assert_uint_eq(sizing.gpus, gpus);
  ck_assert_uint_eq(sizing.tasks, count);
  ck_assert_uint_eq(sizing.cpus, cpus);
  ck_assert_uint_eq(sizing.cpus_per_task, per_task);
}

START_TEST(tasks_go_with_their_gpus) {
  mlq_size_request_t size = with_gpus(tasks(4, 3), MLQ_GPUS_OF_JOB, 4);
  SizeRange range = range_of("unit=gpu,min=1,max=9", size);
  check_range(range, 2, 9, 4);  // one task would count as a program that uses all GPUs
  ck_assert_uint_eq(range.unit, 3);
  check_sized(range, size, 6, 6, 6, 18);
  size = with_gpus(tasks(8), MLQ_GPUS_OF_NODE, 4);
  range = range_of("unit=gpu,min=1,max=8", size);
  check_range(range, 1, 8, 4);  // two tasks a GPU
  check_sized(range, size, 1, 1, 2, 2);
  size = with_gpus(tasks(3), MLQ_GPUS_OF_JOB, 6);
  range = range_of("unit=gpu,min=3,max=9", size);
  check_range(range, 2, 4, 3);  // two GPUs a task: 4 to 8 GPUs
  check_sized(range, size, 4, 8, 4, 4);
  size = with_gpus(tasks(3, 2), MLQ_GPUS_OF_TASK, 2);
  range = range_of("unit=gpu,min=1,max=9", size);
  check_range(range, 1, 4, 3);
  check_sized(range, size, 4, 2, 4, 8);
  check_sized(range, size, 1, 2, 1, 2);
  size.min_nodes = 3;  // a task on each of them at least
  check_range(range_of("unit=gpu,min=1,max=9", size), 3, 4, 3);
}
END_TEST

START_TEST(a_single_task_gets_the_cores_of_all_its_gpus) {
  mlq_size_request_t size = with_gpus(tasks(1, 6), MLQ_GPUS_OF_NODE, 2);
  SizeRange range = range_of("unit=gpu,min=1,max=4", size);
  check_range(range, 1, 4, 2);
  ck_assert_uint_eq(range.unit, 3);
  check_sized(range, size, 4, 4, 1, 12, 12);
  check_sized(range, size, 1, 1, 1, 3, 3);
  size = with_gpus(tasks(1, 3), MLQ_GPUS_OF_JOB, 1);  // after that it is the same job
  range = range_of("unit=gpu,min=1,max=4", size);
  check_range(range, 1, 4, 1);
  check_sized(range, size, 4, 4, 1, 12, 12);
  size = with_gpus(tasks(1), MLQ_GPUS_OF_JOB, 2);
  size.cpus_per_gpu = 4;  // Slurm gives it the cores
  range = range_of("unit=gpu,max=4", size);
  check_range(range, 2, 4, 2);
  ck_assert_uint_eq(range.unit, 4);
  check_sized(range, size, 3, 3, 1, 1);
  size = with_gpus(tasks(1, 60000), MLQ_GPUS_OF_JOB, 3);  // Slurm has no more than 16 bits for them
  check_range(range_of("unit=gpu,max=4", size), 3, 3, 3);
}
END_TEST

START_TEST(nodes_with_gpus) {
  mlq_size_request_t size = with_gpus(tasks(8), MLQ_GPUS_OF_NODE, 4);
  size.min_nodes = size.max_nodes = 2;
  size.tasks_per_node = 4;
  const SizeRange range = range_of("unit=node,min=1,max=4", size);
  check_range(range, 1, 4, 2);
  const mlq_sizing_t sizing = sized(range, size, 3);
  ck_assert_uint_eq(sizing.nodes, 3);
  ck_assert_uint_eq(sizing.tasks, 12);
  ck_assert_uint_eq(sizing.gpus, 4);
  size.gpus_of = MLQ_GPUS_OF_JOB;
  holds_text(range_of("unit=node,min=1,max=4", size).refusal, "otherwise than by node");
}
END_TEST

START_TEST(what_cannot_be_sized_says_why) {
  const auto refused = [](const mlq_size_request_t& size, const char* text,
                          const char* request = "unit=gpu,min=1,max=4") {
    const SizeRange range = range_of(request, size);
    ck_assert(range.given);
    holds_text(range.refusal, text);
  };
  refused(tasks(4), "its unit is a GPU, and it asks for none");
  mlq_size_request_t size = with_gpus(tasks(4), MLQ_GPUS_OF_JOB, 4);
  refused(size, "only unit=gpu and unit=node count those", "min=1,max=4");
  refused(size, "no number of GPUs in its range", "unit=gpu,min=1,max=1");
  size.whole_nodes = true;
  refused(size, "it takes nodes whole, with all of their GPUs");
  size = with_gpus(tasks(4), MLQ_GPUS_OF_NODE, 2);
  size.max_nodes = 0;
  refused(size, "may have several nodes: only unit=node");
  size.min_nodes = size.max_nodes = 2;
  refused(size, "may have several nodes: only unit=node");
  size = with_gpus(tasks(4), MLQ_GPUS_OF_NODE, 4);
  size.tasks_per_node = 4;
  refused(size, "--ntasks-per-node");
  size = with_gpus(tasks(4), MLQ_GPUS_OF_JOB, 4);
  size.memory_per_node = true;
  refused(size, "--mem");
  refused(with_gpus(tasks(4), MLQ_GPUS_OF_JOB, 6), "GPUs cannot be the same number for each of its tasks");
  refused(with_gpus(tasks(1, 3), MLQ_GPUS_OF_JOB, 2), "CPUs cannot be the same number for each of its GPUs");
  refused(with_gpus(tasks(1), MLQ_GPUS_OF_JOB, 2), "CPUs cannot be the same number for each of its GPUs");
  refused(with_gpus(tasks(2), MLQ_GPUS_OF_TASK, 8), "no number of GPUs in its range");
  size = with_gpus(tasks(2), MLQ_GPUS_OF_JOB, 2);
  size.cpus = 8;
  refused(size, "more CPUs than its tasks need");
  size = with_gpus(tasks(2), MLQ_GPUS_OF_JOB, 2);
  size.refusal = "it is an array";
  refused(size, "it is an array");
}
END_TEST

enum : std::uint32_t { slow, fast };

/// Nodes of 16 cores, the first two with four slow GPUs, the third with four fast ones.
struct GpuSizingBench : SizingBench {
  GpuSizingBench() : SizingBench({16, 16, 16}) {
    gpu_types = {"slow", "fast"};
    classes.assign(2, {16, false, "east", 0});
    nodes[2].node_class = fast;
    for (const std::uint32_t node : {0U, 1U, 2U}) give_gpus(node, 4, nodes[node].node_class);
  }
  mlq_job_snapshot_t& ask_gpus(std::uint32_t id, const mlq_size_request_t& size, const char* request,
                               std::uint32_t types) {
    mlq_job_snapshot_t& job = ask(id, size.tasks, request);
    job.size = size;
    mlq_waiting_snapshot_t& waits = waiting.back();
    waits.gres = true;
    waits.cpus = size.cpus;
    waits.cpus_per_task = size.cpus_per_task;
    waits.cpus_per_node = size.cpus_per_node;
    waits.max_nodes = size.max_nodes;
    waits.gpus = size.gpus;
    waits.gpus_per_node = size.gpus_of == MLQ_GPUS_OF_NODE ? size.gpus : 0;
    waits.gpu_types = types;
    return job;
  }
};

constexpr const char* growing = "unit=gpu,min=1,max=8,resize=companion";
constexpr std::uint32_t any_type = (1U << MLQ_GPU_TYPES_MAX) - 1;

START_TEST(it_starts_on_the_gpus_that_are_idle) {
  GpuSizingBench bench;
  bench.used_gpus = {{0, 3}, {1, 2}, {2, 1}};
  bench.ask_gpus(1, with_gpus(tasks(8), MLQ_GPUS_OF_JOB, 8), growing, 1U << slow);
  bench.turn(epoch);
  ck_assert_uint_eq(bench.sizings().size(), 1);
  ck_assert_uint_eq(bench.sizings()[0].gpus, 3);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 3);
  holds_text(bench.why(1), "size 3 GPUs of 2 to 8: that many can start now, the 8 before would wait");
  bench.waiting[0].gpu_types = any_type;
  bench.turn(epoch + 60);
  ck_assert_uint_eq(bench.sizings()[0].gpus, 6);
  bench.used = {{2, 15}};  // one core is left beside three of them
  bench.turn(epoch + 120);
  ck_assert_uint_eq(bench.sizings()[0].gpus, 4);
}
END_TEST

START_TEST(a_single_task_stays_on_one_node) {
  GpuSizingBench bench;
  bench.used_gpus = {{0, 3}, {1, 1}};
  bench.ask_gpus(1, with_gpus(tasks(1, 4), MLQ_GPUS_OF_NODE, 4), growing, 1U << slow);
  bench.turn(epoch);
  ck_assert_uint_eq(bench.sizings().size(), 1);
  ck_assert_uint_eq(bench.sizings()[0].gpus, 3);
  ck_assert_uint_eq(bench.sizings()[0].cpus_per_task, 3);
  bench.used = {{1, 14}};  // a node with fewer cores than its task has now will do
  bench.turn(epoch + 60);
  ck_assert_uint_eq(bench.sizings()[0].gpus, 2);
}
END_TEST

START_TEST(types_are_dealt_apart_and_what_others_wait_for_is_theirs) {
  GpuSizingBench bench;
  bench.ask_gpus(1, with_gpus(tasks(8), MLQ_GPUS_OF_JOB, 8), growing, 1U << fast);
  bench.ask_gpus(2, with_gpus(tasks(8), MLQ_GPUS_OF_TASK, 1), growing, 1U << fast);
  bench.turn(epoch);
  ck_assert_uint_eq(bench.sizings().size(), 2);
  ck_assert_uint_eq(bench.sizings()[0].gpus + bench.sizings()[1].tasks, 4);
  ck_assert_uint_ge(bench.sizings()[0].gpus, 2);
  ck_assert_uint_ge(bench.sizings()[1].tasks, 1);
  // an ordinary job before them takes three of the four, and all of its node's cores but one
  mlq_waiting_snapshot_t other = bench.waiting[0];
  other.job_id = 9;
  other.priority = 5000;
  other.gpus = 3;
  other.cpus = 15;
  bench.waiting.insert(bench.waiting.begin(), other);
  bench.waiting.pop_back();
  bench.job(2).state = MLQ_JOB_ENDED;
  bench.job(1).size = with_gpus(tasks(8), MLQ_GPUS_OF_TASK, 1);
  bench.turn(epoch + 60);
  ck_assert_uint_eq(bench.sizings().size(), 1);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 1);
}
END_TEST

START_TEST(jobs_that_count_in_cores_leave_it_its_cores) {
  GpuSizingBench bench;
  bench.ask_gpus(1, with_gpus(tasks(2, 12), MLQ_GPUS_OF_JOB, 2), "unit=gpu,min=2,max=2,resize=companion",
                 any_type);
  bench.ask(2, 40, "min=2,max=40,resize=companion");
  bench.turn(epoch);
  ck_assert_uint_eq(bench.sizings().size(), 1);
  ck_assert_uint_eq(bench.sizings()[0].job_id, 2);
  ck_assert_uint_eq(bench.sizings()[0].cpus, 24);
}
END_TEST

/// Two nodes with four slow GPUs each; the job has two of the first one's, and as many cores.
struct GpuRequeueBench : RequeueBench {
  explicit GpuRequeueBench(const mlq_size_request_t& size) : RequeueBench("", {8, 8}) {
    gpu_types = {"slow", "fast"};
    for (const std::uint32_t node : {0U, 1U}) give_gpus(node, 4, slow);
    mlq_job_snapshot_t& job = start("resize=requeue,unit=gpu,min=1,max=8");
    job.size = size;
    job.gpus = 2;
    job.gpu_type = "slow";
  }
};

START_TEST(a_requeue_is_for_more_gpus) {
  GpuRequeueBench bench(with_gpus(tasks(2), MLQ_GPUS_OF_JOB, 2));
  bench.used_gpus = {{1, 1}};
  bench.told();
  holds_text(bench.actions[0].reason, "to go on with 7 GPUs");
  holds_text(bench.reason(id), "7 GPUs, before 2: that pays for a restart");
  ck_assert_int_eq(bench.wanted(id), 7);
  bench.job(id).state = MLQ_JOB_ENDED;
  bench.job(id).end_state = "COMPLETED";
  bench.job(id).end_time = static_cast<std::int64_t>(epoch + bench.at);
  ck_assert_uint_eq(bench.go(bench.at + 1).size(), 1);
  bench.done();
  bench.requeued();
  bench.job(id).gpus = 0;
  bench.go(bench.at + 1);
  ck_assert_ptr_nonnull(bench.sizing());
  ck_assert_uint_eq(bench.sizing()->gpus, 7);
  ck_assert_uint_eq(bench.sizing()->tasks, 7);
}
END_TEST

START_TEST(a_requeue_finds_its_gpus_with_cores_and_of_its_type) {
  GpuRequeueBench one_node(with_gpus(tasks(1, 2), MLQ_GPUS_OF_NODE, 2));
  one_node.go(8);
  holds_text(one_node.reason(id), "4 GPUs, before 2");
  GpuRequeueBench no_cores(with_gpus(tasks(2), MLQ_GPUS_OF_JOB, 2));
  no_cores.used = {{0, 5}, {1, 8}};  // one more core on its own node
  no_cores.go(8);
  holds_text(no_cores.reason(id), "3 GPUs, before 2");
  GpuRequeueBench other_type(with_gpus(tasks(2), MLQ_GPUS_OF_JOB, 2));
  other_type.job(id).gpu_type = "fast";
  other_type.go(8);
  holds_text(other_type.reason(id), "2 GPUs: no other size would pay");
  mlq_size_request_t two = with_gpus(tasks(1), MLQ_GPUS_OF_TASK, 2);
  GpuRequeueBench pairs(two);
  pairs.used_gpus = {{1, 1}};
  pairs.go(8);
  holds_text(pairs.reason(id), "6 GPUs, before 2");  // three tasks with two each
  ck_assert_int_eq(pairs.wanted(id), 6);
}
END_TEST

}  // namespace

TCase* gpu_sizing_cases() {
  TCase* tcase = tcase_create("gpu sizing");
  tcase_add_test(tcase, tasks_go_with_their_gpus);
  tcase_add_test(tcase, a_single_task_gets_the_cores_of_all_its_gpus);
  tcase_add_test(tcase, nodes_with_gpus);
  tcase_add_test(tcase, what_cannot_be_sized_says_why);
  tcase_add_test(tcase, it_starts_on_the_gpus_that_are_idle);
  tcase_add_test(tcase, a_single_task_stays_on_one_node);
  tcase_add_test(tcase, types_are_dealt_apart_and_what_others_wait_for_is_theirs);
  tcase_add_test(tcase, jobs_that_count_in_cores_leave_it_its_cores);
  tcase_add_test(tcase, a_requeue_is_for_more_gpus);
  tcase_add_test(tcase, a_requeue_finds_its_gpus_with_cores_and_of_its_type);
  return tcase;
}
