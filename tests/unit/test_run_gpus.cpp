// SPDX-License-Identifier: GPL-2.0-or-later
// mlq run with GPUs: what companions ask for, and which devices ranks see.
#include "tests/unit/test_run.hpp"

#include <string>
#include <vector>

#include "tools/mlq/run/companion_plan.hpp"
#include "tools/mlq/run/environment.hpp"
#include "tools/mlq/run/node_size.hpp"

#include "tests/unit/check_cpp.hpp"

using namespace mlq::run;

namespace {

std::string joined_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + "\n";
  return text;
}

START_TEST(companions_ask_for_gpus) {
  ParentJob parent;
  parent.job = 7;
  parent.name = "n";
  const Unit gpus{UnitKind::gpu, 6, 1};
  const std::string gpu = joined_text(sbatch_command(parent, gpus, {"p", 2}, "/d", "s"));
  ck_assert(gpu.find("--gres=gpu:2\n") != std::string::npos &&
            gpu.find("--cpus-per-task=12\n") != std::string::npos);
  // the type that the job asked for, and memory by GPU where it has asked for that
  parent.memory_per_cpu = 100;
  parent.memory_per_gpu = 900;
  const std::string typed = joined_text(sbatch_command(parent, gpus, {"p", 3, "a100.80gb"}, "/d", "s"));
  ck_assert(typed.find("--gres=gpu:a100.80gb:3\n") != std::string::npos &&
            typed.find("--mem-per-gpu=900M\n") != std::string::npos &&
            typed.find("--mem-per-cpu") == std::string::npos);
  const std::string plain = joined_text(sbatch_command(parent, {UnitKind::cores, 2}, {"p", 3}, "/d", "s"));
  ck_assert(plain.find("--mem-per-cpu=100M\n") != std::string::npos &&
            plain.find("--mem-per-gpu") == std::string::npos);
  const std::string nodes =
      joined_text(sbatch_command(parent, {UnitKind::node, 0, 4}, {"p", 1, "x"}, "/d", "s"));
  ck_assert(nodes.find("--exclusive\n") != std::string::npos &&
            nodes.find("--gres=gpu:x:4\n") != std::string::npos &&
            nodes.find("--cpus-per-task") == std::string::npos);
  // the scheduler, which knows all nodes of the base, says what a unit is
  Target target;
  target.unit_gpus = 1;
  target.unit_cores = 4;
  const Unit told = unit_of(target, gpus);
  ck_assert(told.cores == 4 && told.gpus == 1 && unit_of(Target(), gpus).cores == 6);
  ck_assert(unit_of(target, {UnitKind::cores, 2}).cores == 2 &&
            unit_of(target, {UnitKind::cores, 2}).gpus == 0);
  target.unit_gpus = 8;
  ck_assert(unit_of(target, {UnitKind::node, 0, 4}).gpus == 8 &&
            unit_of(target, {UnitKind::node, 0, 4}).cores == 0);
}
END_TEST

START_TEST(news_of_gpus) {
  const auto gpus = parse_job_news(
      R"({"v":1,"status":{"target":{"units":3,"base":1,"unit_gpus":1,"unit_cores":6,"grants":)"
      R"([{"partition":"p","units":2,"gpu_type":"a:1 --x"},{"partition":"p","units":1,"gpu_type":"a100"},)"
      R"({"partition":"p","units":4,"gpu_type":7}]}}})");
  ck_assert_uint_eq(gpus->target->grants.size(), 1);  // what is no type's name goes into no command either
  check_text(gpus->target->grants[0].gpu_type, "a100");
  ck_assert_int_eq(gpus->target->unit_gpus, 1);
  ck_assert_int_eq(gpus->target->unit_cores, 6);
}
END_TEST

START_TEST(devices_are_those_of_the_node) {
  // which GPUs a job has is a matter of its node, not of the parent's
  const Environment devices{{"CUDA_VISIBLE_DEVICES", "2,3"},
                            {"ROCR_VISIBLE_DEVICES", "2,3"},
                            {"ZE_AFFINITY_MASK", "2,3"},
                            {"GPU_DEVICE_ORDINAL", "2,3"},
                            {"CUDA_LAUNCH_BLOCKING", "1"}};
  const Environment others = base_environment({{"CUDA_VISIBLE_DEVICES", "0"}}, devices);
  check_text(others.at("CUDA_VISIBLE_DEVICES") + others.at("CUDA_LAUNCH_BLOCKING"), "01");
  ck_assert(!others.contains("ROCR_VISIBLE_DEVICES") && !others.contains("ZE_AFFINITY_MASK") &&
            !others.contains("GPU_DEVICE_ORDINAL"));
  check_text(base_environment(devices, devices).at("CUDA_VISIBLE_DEVICES"), "2,3");
  for (const std::int64_t local :
       {0, 1})  // as under torchrun: all of the node's, LOCAL_RANK is whose is which
    check_text(worker_environment(others, {1, 5 + local, 8, local, 2, "h", 99, 9, 18, false}, "@s", 7)
                   .at("CUDA_VISIBLE_DEVICES"),
               "0");
}
END_TEST

START_TEST(gpus_of_a_node) {
  // GPUs: what Slurm counts here; what the batch host has is in the environment of srun's tasks elsewhere too
  const auto gpus = [](const Environment& environment) { return node_size(environment).gpus; };
  ck_assert_int_eq(gpus({{"SLURM_GPUS_ON_NODE", "3"}, {"SLURM_JOB_GPUS", "0,1"}}), 3);
  ck_assert_int_eq(gpus({{"SLURM_STEP_GPUS", "5"}, {"SLURM_JOB_GPUS", "0,1"}}), 1);
  ck_assert_int_eq(gpus({{"CUDA_VISIBLE_DEVICES", "0,1,2"}, {"SLURM_JOB_GPUS", "4"}}), 3);
  ck_assert_int_eq(gpus({{"SLURM_JOB_GPUS", "0,7"}}), 2);
  ck_assert_int_eq(gpus({{"SLURM_GPUS_ON_NODE", "x"}, {"CUDA_VISIBLE_DEVICES", ""}}), 0);
}
END_TEST

}  // namespace

Suite* run_gpu_suite() {
  Suite* suite = suite_create("run with GPUs");
  TCase* tests = tcase_create("GPUs");
  tcase_add_test(tests, companions_ask_for_gpus);
  tcase_add_test(tests, news_of_gpus);
  tcase_add_test(tests, devices_are_those_of_the_node);
  tcase_add_test(tests, gpus_of_a_node);
  suite_add_tcase(suite, tests);
  return suite;
}
