// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs that count in GPUs: what they are lent, of which type, and who gets it back.
#include "tests/unit/resize_bench.hpp"

namespace {

enum : std::uint32_t { slow, fast };

/// Nodes of 16 cores, each with some GPUs of a type (or none).
struct GpuBench : ResizeBench {
  struct Node {
    std::uint16_t gpus;
    std::uint32_t type;
  };
  explicit GpuBench(const std::vector<Node>& of, const char* extra = "")
      : ResizeBench(std::vector<std::uint32_t>(of.size(), 16), extra) {
    gpu_types = {"slow", "fast"};
    classes.assign(3, {16, false, "east", 0});
    for (std::uint32_t n = 0; n < of.size(); n++) {
      nodes[n].node_class = of[n].gpus == 0 ? 2 : of[n].type;
      if (of[n].gpus > 0) give_gpus(n, of[n].gpus, of[n].type);
    }
  }

  mlq_job_snapshot_t& train_on(std::uint32_t id, std::uint32_t node, std::uint32_t gpus, std::uint32_t cores,
                               const char* request = "resize=companion,unit=gpu") {
    mlq_job_snapshot_t& job = train(id, cores, node, request);
    job.gpus = gpus;
    agents[id].units = gpus;
    return job;
  }

  mlq_job_snapshot_t& companion_on(std::uint32_t id, std::uint32_t parent, std::uint32_t node,
                                   std::uint32_t gpus, std::uint32_t cores, double start = epoch) {
    mlq_job_snapshot_t& job = companion(id, parent, cores, node, start);
    job.gpus = gpus;
    return job;
  }

  mlq_waiting_snapshot_t& wait_for_gpus(std::uint32_t id, std::uint32_t gpus, std::uint32_t cpus) {
    mlq_waiting_snapshot_t& job = wait(id, cpus);
    job.gres = true;
    job.gpus = gpus;
    job.gpu_types = (1U << MLQ_GPU_TYPES_MAX) - 1;
    return job;
  }

  /// "units:type" of each grant.
  void check_grants(std::uint32_t id, const char* expected) {
    std::string text;
    std::size_t i = 0;
    json_t* grant = nullptr;
    json_array_foreach(json_object_get(target(id), "grants"), i, grant) {
      const char* type = json_string_value(json_object_get(grant, "gpu_type"));
      text += std::to_string(json_integer_value(json_object_get(grant, "units"))) + ":" +
              (type == nullptr ? "" : type) + " ";
    }
    ck_assert_str_eq(text.c_str(), expected);
  }
};

START_TEST(idle_gpus_are_offered_with_the_cores_beside_them) {
  GpuBench bench({{4, slow}, {4, slow}, {0, slow}});
  bench.train_on(1, 0, 2, 6);  // 3 cores a GPU
  bench.turn(epoch);
  // two on its own node; on the next all four; none on the node that has cores only
  ck_assert_int_eq(bench.wanted(1), 8);
  bench.check_grants(1, "4: 2: ");
  ck_assert_int_eq(json_integer_value(json_object_get(bench.target(1), "base")), 2);
  ck_assert_int_eq(json_integer_value(json_object_get(bench.target(1), "held")), 2);
  ck_assert_int_eq(json_integer_value(json_object_get(bench.target(1), "unit_gpus")), 1);
  ck_assert_int_eq(json_integer_value(json_object_get(bench.target(1), "unit_cores")), 3);
  bench.companion_on(10, 1, 1, 4, 12);
  bench.agents[1].units = 6;
  for (int t = 3; t < 60; t += 3) {
    bench.turn(epoch + t);
    ck_assert_int_eq(bench.wanted(1), 8);
    bench.check_grants(1, "2: ");
    ck_assert_int_eq(json_integer_value(json_object_get(bench.target(1), "held")), 6);
  }
}
END_TEST

START_TEST(min_and_max_are_gpus) {
  GpuBench bench({{8, slow}, {8, slow}});
  bench.train_on(1, 0, 2, 3, "resize=companion,unit=gpu,min=2,max=5");  // three cores for two
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 5);
  ck_assert_int_eq(bench.granted(1), 3);
  // in all, whatever the companions' cores are
  bench.companion_on(10, 1, 1, 3, 9);
  bench.agents[1].units = 5;
  bench.turn(epoch + 30);
  ck_assert_int_eq(bench.wanted(1), 5);
  ck_assert_int_eq(bench.granted(1), 0);
  holds_text(bench.reason(1), "5 GPUs: it asks for no more");
}
END_TEST

START_TEST(gpus_idle_but_no_cores_beside_them) {
  GpuBench bench({{4, slow}, {4, slow}});
  bench.train_on(1, 0, 1, 4);
  bench.used[0] = 12;  // ordinary jobs without GPUs
  bench.used[1] = 7;
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 3);  // the nine cores left on the second node are enough for two
  bench.check_grants(1, "2: ");
  bench.used[1] = 13;
  bench.turn(epoch + 30);
  ck_assert_int_eq(bench.wanted(1), 1);
  holds_text(bench.reason(1), "1 GPU");
}
END_TEST

START_TEST(cores_idle_but_no_gpus) {
  GpuBench bench({{2, slow}, {2, slow}, {0, slow}});
  bench.train_on(1, 0, 2, 2);
  bench.used_gpus[1] = 2;
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 2);
  ck_assert_int_eq(bench.granted(1), 0);
}
END_TEST

START_TEST(types_are_not_mixed_up) {
  GpuBench bench({{2, slow}, {4, fast}, {4, slow}});
  bench.train_on(1, 0, 2, 2).gpu_type = "slow";
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 6);  // not the four fast ones
  bench.check_grants(1, "4:slow ");
  // a type that no node has any more
  bench.job(1).gpu_type = "ancient";
  bench.turn(epoch + 30);
  ck_assert_int_eq(bench.wanted(1), 2);
  // asked for none: any will do, and the request says none
  GpuBench any({{2, slow}, {4, fast}, {4, slow}});
  any.train_on(1, 0, 2, 2);
  any.turn(epoch);
  ck_assert_int_eq(any.wanted(1), 10);
  any.check_grants(1, "4: 4: ");
  GpuBench mixed({{2, slow}, {4, fast}});
  mixed.train_on(1, 0, 2, 2).mixed_gpus = true;
  mixed.turn(epoch);
  ck_assert_ptr_null(mixed.target(1));
  holds_text(mixed.reason(1), "GPUs of more than one type");
}
END_TEST

START_TEST(nobody_is_given_companions_without_gpus) {
  GpuBench bench({{8, slow}, {8, slow}});
  bench.train_on(1, 0, 2, 4, "resize=companion,max=8");
  bench.train_on(2, 0, 2, 4, "resize=companion,unit=2,max=8");
  bench.train_on(3, 0, 0, 4, "resize=companion,unit=gpu,max=8");
  bench.turn(epoch);
  for (const std::uint32_t id : {1, 2}) {
    ck_assert_ptr_null(bench.target(id));
    holds_text(bench.reason(id), "it has GPUs, and units of cores would have none");
  }
  ck_assert_ptr_null(bench.target(3));
}
END_TEST

START_TEST(nodes_come_with_their_gpus) {
  GpuBench bench({{4, fast}, {4, slow}, {4, fast}, {0, slow}, {4, fast}});
  bench.train_on(1, 0, 4, 16, "resize=companion,unit=node").gpu_type = "fast";
  bench.used_gpus[4] = 1;
  bench.used[4] = 1;
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 2);
  bench.check_grants(1, "1:fast ");
  ck_assert_int_eq(json_integer_value(json_object_get(bench.target(1), "unit_gpus")), 4);
}
END_TEST

START_TEST(an_ordinary_job_gets_lent_gpus_back) {
  GpuBench bench({{4, slow}, {4, fast}, {4, slow}});
  bench.train_on(1, 0, 4, 4);
  bench.companion_on(10, 1, 1, 4, 4, epoch - 50);
  bench.companion_on(11, 1, 2, 2, 2, epoch - 40);
  bench.companion_on(12, 1, 2, 2, 2, epoch - 30);
  bench.agents[1].units = 12;
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 12);
  // cores are idle everywhere: it is the GPU that it waits for
  bench.wait_for_gpus(99, 1, 1).gpu_types = 1U << slow;
  bench.turn(epoch + 3);
  ck_assert_uint_eq(bench.leave(1).size(), 1);
  ck_assert_int_ge(bench.leave(1).at(0), 11);
  ck_assert_int_eq(bench.wanted(1), 10);
  holds_text(bench.reason(1), "job 99 could start with GPUs or CPUs lent to this one");
  bench.turn(epoch + 20);
  ck_assert_uint_eq(bench.endings.size(), 1);
  ck_assert_str_eq(bench.endings[0].reason, "job 99 waits for its GPUs");
  // more than one node's worth, of that type
  bench.waiting.clear();
  bench.turn(epoch + 23);
  bench.wait_for_gpus(98, 4, 4).gpu_types = 1U << fast;
  bench.turn(epoch + 26);
  ck_assert_uint_eq(bench.leave(1).size(), 1);
  ck_assert_int_eq(bench.leave(1).at(0), 10);
}
END_TEST

START_TEST(idle_gpus_are_kept_for_those_who_wait) {
  GpuBench bench({{4, slow}, {4, slow}});
  bench.train_on(1, 0, 1, 1);
  mlq_waiting_snapshot_t& job = bench.wait_for_gpus(99, 8, 2);  // with what job 1 has it could never start
  bench.turn(epoch);
  ck_assert_int_eq(bench.wanted(1), 8);
  job.gpus = 6;  // and so it could
  bench.turn(epoch + 30);
  ck_assert_int_eq(bench.wanted(1), 2);
  job.gpus = 2;  // two on each of two nodes
  job.nodes = 2;
  job.gpus_per_node = 2;
  job.gpus = 4;
  bench.turn(epoch + 60);
  ck_assert_int_eq(bench.wanted(1), 4);
  // cores that go with its GPUs are kept as well, though it says no number of them
  GpuBench cores({{4, slow}});
  cores.train_on(1, 0, 1, 4);
  mlq_waiting_snapshot_t& other = cores.wait_for_gpus(99, 1, 1);
  other.cpus_per_gpu = 8;
  cores.turn(epoch);
  ck_assert_int_eq(cores.wanted(1), 2);
}
END_TEST

START_TEST(cores_beside_idle_gpus_are_kept_for_jobs_that_count_in_gpus) {
  GpuBench bench({{4, slow}});
  bench.train_on(2, 0, 1, 2, "resize=companion,unit=gpu,max=3");
  bench.train(1, 2, 0, "resize=companion,max=64");
  bench.turn(epoch);
  // 12 cores are idle, of which two GPUs that job 2 may still have need four
  ck_assert_int_eq(bench.wanted(2), 3);
  ck_assert_int_eq(bench.wanted(1), 10);
  // once it has them, or can't have more, the rest is the others'
  bench.companion_on(10, 2, 0, 2, 4);
  bench.companion(20, 1, 8, 0);
  bench.agents[2].units = 3;
  bench.agents[1].units = 10;
  bench.turn(epoch + 30);
  ck_assert_int_eq(bench.wanted(1), 10);
  bench.remove(10);
  bench.agents[2].units = 1;
  bench.agents[2].phase = "ending";
  bench.turn(epoch + 60);
  ck_assert_int_eq(bench.wanted(2), 1);
  ck_assert_int_eq(bench.wanted(1), 14);
}
END_TEST

/* What one leaves for another is not taken by a job that only wants the cores. */
START_TEST(gpus_move_with_their_cores_to_the_job_they_are_worth_more_in) {
  GpuBench bench({{4, slow}, {4, slow}}, "mlq_tail=0.001");
  bench.train_on(1, 0, 1, 4, "resize=companion,unit=gpu,target=10%");  // reached long ago
  bench.companion_on(10, 1, 1, 4, 16, epoch - 500);
  bench.agents[1].units = 5;
  bench.agents[1].more = R"(,"move_s":1)";
  bench.train(3, 2, 0, "resize=companion,max=64");
  bench.agents[3].more = R"(,"move_s":1)";
  bench.used[0] = 6;
  bench.used_gpus[0] = 3;
  bench.turn(epoch);
  for (int k = 61; k <= 100; k++)
    bench.mlqd.add(
        {1, static_cast<std::int64_t>(epoch) - 1000, static_cast<double>(k), 0.1 + 1.0 / k, epoch + k});
  for (int t = 3; t < 30; t += 3) bench.turn(epoch + t);
  ck_assert_int_eq(bench.wanted(1), 5);  // nobody gives back for nothing, nor GPUs for cores
  ck_assert_int_eq(bench.wanted(3), 2 + 4);
  bench.companion(30, 3, 4, 0, epoch + 30);
  bench.agents[3].units = 6;
  for (int t = 30; t < 90; t += 3) bench.turn(epoch + t);
  bench.used[0] = 2;
  bench.used_gpus[0] = 2;
  bench.train_on(4, 0, 1, 4, "resize=companion,unit=gpu");
  bench.agents[4].more = R"(,"move_s":1)";
  for (int t = 90; t < 120; t += 3) {
    bench.turn(epoch + t);
    ck_assert_int_eq(bench.wanted(3), 2 + 4);
  }
  ck_assert_int_eq(bench.wanted(1), 1);
  ck_assert_int_eq(bench.wanted(4), 5);
}
END_TEST

START_TEST(core_seconds_stay_core_seconds) {
  GpuBench bench({{4, slow}, {4, slow}});
  bench.train_on(1, 0, 2, 6, "resize=companion,unit=gpu,max=4").start_time =
      static_cast<std::int64_t>(epoch) - 100;
  bench.companion_on(10, 1, 1, 2, 6, epoch - 50);
  bench.agents[1].units = 4;
  bench.turn(epoch);
  ck_assert_double_eq_tol(bench.comment(1).core_s.value_or(0), 6 * 100 + 6 * 50, 0.2);
  const json_t* list = json_object_get(json_object_get(bench.statuses[1].get(), "resize"), "companions");
  ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(list, 0), "units")), 2);
}
END_TEST

}  // namespace

TCase* gpu_cases() {
  TCase* tests = tcase_create("gpus");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, idle_gpus_are_offered_with_the_cores_beside_them);
  tcase_add_test(tests, min_and_max_are_gpus);
  tcase_add_test(tests, gpus_idle_but_no_cores_beside_them);
  tcase_add_test(tests, cores_idle_but_no_gpus);
  tcase_add_test(tests, types_are_not_mixed_up);
  tcase_add_test(tests, nobody_is_given_companions_without_gpus);
  tcase_add_test(tests, nodes_come_with_their_gpus);
  tcase_add_test(tests, an_ordinary_job_gets_lent_gpus_back);
  tcase_add_test(tests, idle_gpus_are_kept_for_those_who_wait);
  tcase_add_test(tests, cores_beside_idle_gpus_are_kept_for_jobs_that_count_in_gpus);
  tcase_add_test(tests, gpus_move_with_their_cores_to_the_job_they_are_worth_more_in);
  tcase_add_test(tests, core_seconds_stay_core_seconds);
  return tests;
}
