// SPDX-License-Identifier: GPL-2.0-or-later
// Heterogeneous jobs: which component changes, what counts, and who is asked.
#include <cstring>

#include "slurm-plugin/engine/het_sizes.hpp"
#include "slurm-plugin/engine/job.hpp"
#include "tests/unit/check_cpp.hpp"
#include "tests/unit/requeue_bench.hpp"

namespace {

using mlq::engine::HetSizes;
using mlq::engine::SizedComponent;
using Units = std::vector<std::uint32_t>;

SizedComponent component(std::uint32_t offset, std::uint32_t unit, std::uint32_t max, std::uint32_t base,
                         std::uint32_t room) {
  SizedComponent one;
  one.offset = offset;
  one.range.unit = unit;
  one.range.max = max;
  one.base = base;
  one.room = room;
  return one;
}

START_TEST(one_row_of_sizes_component_by_component) {
  const HetSizes sizes({component(0, 1, 8, 2, 6), component(2, 2, 4, 2, 9)}, 3);
  ck_assert_uint_eq(sizes.now(), 9);
  ck_assert(sizes.cpus() == (Units{6, 7, 9, 10, 11, 12, 13, 15, 17}));
  ck_assert(sizes.units_at(9) == (Units{2, 2}));
  ck_assert(sizes.units_at(13) == (Units{6, 2}));  // of its room
  ck_assert(sizes.units_at(14) == (Units{6, 2}));
  ck_assert(sizes.units_at(17) == (Units{6, 4}));  // of its range
  ck_assert(sizes.units_at(99) == (Units{6, 4}));
  ck_assert(sizes.units_at(8) == (Units{2, 1}));
  ck_assert(sizes.units_at(6) == (Units{1, 1}));
  ck_assert(sizes.units_at(0) == (Units{1, 1}));
  for (const std::uint32_t cpus : sizes.cpus()) ck_assert_uint_eq(sizes.cpus_of(sizes.units_at(cpus)), cpus);
}
END_TEST

START_TEST(long_rows_are_cut_around_the_present_size) {
  const HetSizes sizes({component(0, 1, 1000000, 5000, 1000000)}, 1);
  ck_assert_uint_eq(sizes.cpus().size(), HetSizes::most);
  ck_assert_uint_lt(sizes.cpus().front(), 5001);
  ck_assert_uint_gt(sizes.cpus().back(), 5001);
  const HetSizes outside({component(0, 1, 4, 6, 20)}, 0);  // it has more than its largest
  ck_assert(outside.cpus() == (Units{1, 2, 3, 4, 5, 6}));
  const HetSizes none({}, 7);
  ck_assert(none.cpus() == (Units{7}));
}
END_TEST

mlq_job_snapshot_t component_of(std::uint32_t cores, std::uint32_t all, const char* request) {
  mlq_job_snapshot_t seen{};
  seen.job_id = seen.het_job_id = 7;
  seen.state = MLQ_JOB_RUNNING;
  seen.submit_time = static_cast<std::int64_t>(epoch) - 10;
  seen.start_time = static_cast<std::int64_t>(epoch);
  seen.cores = cores;
  seen.het_cores = all;
  seen.request = request;
  return seen;
}

mlq::LossPoint point(double iteration, double time) {
  mlq::LossPoint one{};
  one.iteration = iteration;
  one.loss = 1 / iteration;
  one.time = epoch + time;
  one.cores = 2;  // its rank 0 knows those of its own component
  return one;
}

START_TEST(the_speed_is_that_of_all_components) {
  mlq::engine::Job job(component_of(2, 8, "resize=requeue,max=4"), "user", epoch);
  ck_assert_double_eq(job.cores_held(), 8);
  job.take({point(1, 1), point(2, 2), point(3, 3)});
  ck_assert_double_eq_tol(job.speed().rate(8), 1, 1e-3);
  ck_assert_double_lt(job.speed().rate(2), 0.9);
  mlq::engine::Job companion(component_of(2, 8, "resize=companion,max=4"), "user", epoch);
  ck_assert_double_eq(companion.cores_held(), 2);  // companions are of one component
  mlq::engine::Job earlier(component_of(2, 8, "resize=requeue,max=4"), "user", epoch);
  earlier.others_sized = true;  // what the others had then is not known
  earlier.take({point(1, -3), point(2, -2), point(3, -1)});
  ck_assert(!earlier.speed().known());
  earlier.take({point(4, 1), point(5, 2)});
  ck_assert_double_eq_tol(earlier.speed().rate(8), 1, 1e-3);
}
END_TEST

struct HetBench : RequeueBench {
  using RequeueBench::RequeueBench;

  /// Components of two cores each on nodes 0 and 1, the second one with or without --ml-quality.
  void start_both(const char* first, const char* second) {
    start(first);
    if (second != nullptr) {
      mlq_job_snapshot_t& other = train(other_id, 2, 1, second);
      other.size = job(id).size;
      other.requeue = true;
      other.user_id = job(id).user_id;
      agents.clear();
    } else {
      used[1] = 2;
    }
    for (mlq_job_snapshot_t& one : jobs) {
      one.het_job_id = id;
      one.het_cores = 4;
    }
    if (second != nullptr) job(other_id).het_offset = 1;
  }
  void both_requeued() {
    requeued();
    mlq_job_snapshot_t& other = job(other_id);
    const std::uint32_t offset = other.het_offset;
    const mlq_size_request_t size = other.size;
    other = job(id);
    other.job_id = other_id;
    other.het_offset = offset;
    other.size = size;
    other.submit_time++;  // it ended a moment later
    other.request = second_request;
    other.admin_comment = nullptr;
  }
  /// Tasks that are to be asked for, of both: 0 when nothing is to change.
  std::pair<std::uint32_t, std::uint32_t> sized() {
    const mlq_sizing_t* found = nullptr;
    const std::size_t count = mlq_engine_sizings(engine.get(), &found);
    std::pair<std::uint32_t, std::uint32_t> tasks{0, 0};
    for (std::size_t i = 0; i < count; i++) {
      (found[i].job_id == id ? tasks.first : tasks.second) = found[i].tasks;
      ck_assert_int_eq(found[i].submit_time, job(found[i].job_id).submit_time);
    }
    return tasks;
  }

  static constexpr std::uint32_t other_id = 8;
  const char* second_request = "resize=requeue,min=1,max=8";
};

START_TEST(the_component_with_a_range_is_sized_and_no_other) {
  HetBench bench("", {8, 8});
  bench.start_both("resize=requeue,min=1,max=8", nullptr);
  bench.told();
  ck_assert_uint_eq(bench.actions[0].job_id, id);
  holds_text(bench.actions[0].reason, "to go on with 8 units");
  holds_text(bench.reason(id), "8 units, before 2: ");
  ck_assert_ptr_null(strstr(bench.job(id).admin_comment, "het"));
  bench.requeued();
  bench.job(id).het_cores = 4;
  bench.go(bench.at + 1);
  ck_assert_ptr_nonnull(bench.sizing());
  ck_assert_uint_eq(bench.sizing()->job_id, id);
  ck_assert_uint_eq(bench.sizing()->tasks, 8);
}
END_TEST

START_TEST(each_component_with_a_range_gets_its_own_size) {
  HetBench bench("", {8, 8});
  bench.start_both("resize=requeue,min=1,max=4", bench.second_request);
  bench.told();  // one action, for one requeue of both
  ck_assert_uint_eq(bench.actions[0].job_id, id);
  holds_text(bench.actions[0].reason, "to go on with 4 + 8 units");
  holds_text(bench.reason(id), "4 + 8 units, before 2 + 2: ");
  holds_text(bench.reason(HetBench::other_id), "component 1 of heterogeneous job 7");
  holds_text(bench.job(id).admin_comment, R"("units":4,"het":[[1,8]])");
  const char* second = bench.job(HetBench::other_id).admin_comment;
  ck_assert(second == nullptr || strstr(second, "requeue") == nullptr);
  bench.both_requeued();
  for (int slurmctld = 0; slurmctld < 2; slurmctld++) {
    bench.go(bench.at + 1);
    ck_assert(bench.sized() == std::make_pair(4U, 8U));
    bench.restart();  // before anything of it was done: all of it again
  }
  bench.go(bench.at + 1);
  bench.job(id).size.cpus = bench.job(id).size.tasks = 4;
  bench.restart();  // when one of them was sized: the other one
  bench.go(bench.at + 1);
  ck_assert(bench.sized() == std::make_pair(0U, 8U));
  bench.job(HetBench::other_id).size.cpus = bench.job(HetBench::other_id).size.tasks = 8;
  bench.go(bench.at + 3);
  ck_assert(bench.sized() == std::make_pair(0U, 0U));
  bench.runs_again(4);
  bench.go(bench.at + 3);
  bench.report(61, bench.at - 1);
  bench.go(bench.at + 10);
  ck_assert_uint_eq(bench.comment(id).requeue.done, 1);
  ck_assert_double_eq(bench.comment(id).requeue.at, 0);
  ck_assert_uint_eq(bench.comment(id).requeue.components.size(), 0);
}
END_TEST

/// Nobody sees what a pending heterogeneous job waits for: who came first on its cores may stay for days.
START_TEST(what_does_not_start_at_its_new_size_has_the_old_one_again) {
  HetBench bench("", {8, 8});
  bench.start_both("resize=requeue,min=1,max=4", bench.second_request);
  bench.told();
  bench.both_requeued();
  const auto take = [&bench](std::uint32_t job, std::uint32_t tasks) {
    bench.job(job).size.cpus = bench.job(job).size.tasks = tasks;
    mlq_engine_size_done(bench.engine.get(), epoch + bench.at, job, bench.job(job).submit_time, nullptr);
  };
  bench.go(bench.at + 1);
  take(id, 4);
  take(HetBench::other_id, 8);
  bench.go(bench.at + 590);
  ck_assert(bench.sized() == std::make_pair(0U, 0U));
  for (double end = bench.at + 30; bench.at < end && bench.sized().first == 0;) bench.go(bench.at + 1);
  ck_assert(bench.sized() == std::make_pair(2U, 2U));
  const char* said = json_string_value(json_object_get(bench.statuses[id].get(), "reason"));
  holds_text(said == nullptr ? "" : said,
             "2 cores of 1 to 4: as before it was requeued, for it has not started with 4");
  take(id, 2);
  take(HetBench::other_id, 2);
  bench.go(bench.at + 700);  // once
  ck_assert(bench.sized() == std::make_pair(0U, 0U));
}
END_TEST

START_TEST(the_first_component_may_keep_its_size) {
  HetBench bench("", {8, 8});
  bench.start_both("resize=requeue", bench.second_request);
  bench.told();
  ck_assert_uint_eq(bench.actions[0].job_id, id);  // its reports are followed all the same
  holds_text(bench.actions[0].reason, "to go on with 8 units");
  bench.both_requeued();
  bench.go(bench.at + 1);
  ck_assert(bench.sized() == std::make_pair(0U, 8U));
}
END_TEST

START_TEST(components_share_no_node) {
  HetBench near("", {4, 16});
  near.start_both("resize=requeue,min=1,max=16", nullptr);
  near.told();
  holds_text(near.actions[0].reason, "to go on with 4 units");  // not the 14 beside the other component
  HetBench far("", {4, 16, 12});
  far.start_both("resize=requeue,min=1,max=16", nullptr);
  far.told();
  holds_text(far.actions[0].reason, "to go on with 12 units");
  HetBench used("", {4, 16, 12});
  used.start_both("resize=requeue,min=1,max=16", nullptr);
  used.used[2] = 1;  // by whom is not known
  used.told();
  holds_text(used.actions[0].reason, "to go on with 4 units");
}
END_TEST

START_TEST(who_falls_back_stays_as_it_is_with_all_components) {
  HetBench bench("", {8, 8});
  bench.start_both("resize=requeue,min=1,max=4", bench.second_request);
  bench.told();
  bench.both_requeued();
  bench.go(bench.at + 1);
  bench.runs_again(4);
  mlq_job_snapshot_t& other = bench.job(HetBench::other_id);
  other.state = MLQ_JOB_RUNNING;
  other.start_time = bench.job(id).start_time;
  other.cores = 4;
  other.node = 1;
  bench.go(bench.at + 1);
  bench.report(59, bench.at - 1);
  bench.restart();
  ck_assert_uint_eq(bench.go(bench.at + 300).size(), 0);
  holds_text(bench.reason(id), "it is not requeued again: it went on from iteration 59");
}
END_TEST

START_TEST(a_new_one_is_not_sized_before_it_ran) {
  HetBench bench("", {8, 8});
  bench.start_both("resize=requeue,min=1,max=4", bench.second_request);
  bench.both_requeued();
  bench.job(id).restarts = bench.job(HetBench::other_id).restarts = 0;
  bench.go(5);
  ck_assert(bench.sized() == std::make_pair(0U, 0U));
  const char* said = json_string_value(json_object_get(bench.statuses[id].get(), "reason"));
  holds_text(said == nullptr ? "" : said, "gets another size by a requeue only");
}
END_TEST

START_TEST(what_keeps_all_of_them_at_their_sizes) {
  const auto why = [](const char* first, const char* second, auto change, const char* text) {
    HetBench bench("", {8, 8});
    bench.start_both(first, second);
    change(bench);
    ck_assert_uint_eq(bench.go(40).size(), 0);
    holds_text(bench.reason(id), text);
  };
  const char* range = "resize=requeue,min=1,max=8";
  why(
      range, range, [](HetBench& b) { b.job(id).requeue = false; }, "Slurm may not requeue it");
  why(
      "resize=requeue", nullptr, [](HetBench&) {}, "it names no range of sizes");
  why(
      range, nullptr, [](HetBench& b) { b.job(id).size.refusal = "it names nodes"; }, "it names nodes");
  why(
      "resize=requeue", range, [](HetBench& b) { b.job(HetBench::other_id).size.refusal = "it names nodes"; },
      "it names nodes");
  why(
      range, range, [](HetBench& b) { b.wait(99, 4); }, "job 99 waits and would start in its place");
}
END_TEST

START_TEST(companions_are_those_of_the_first_component) {
  ResizeBench bench({16});
  for (const std::uint32_t job : {id, HetBench::other_id}) bench.train(job, 2, 0).het_job_id = id;
  bench.job(HetBench::other_id).het_offset = 1;
  bench.agents.erase(HetBench::other_id);
  bench.turn(epoch);
  ck_assert_int_gt(bench.wanted(id), 2);
  ck_assert_ptr_null(bench.target(HetBench::other_id));
  holds_text(bench.reason(HetBench::other_id),
             "no agent: of a heterogeneous job mlq run is the first component's");
}
END_TEST

}  // namespace

TCase* het_cases() {
  TCase* tests = tcase_create("het");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, one_row_of_sizes_component_by_component);
  tcase_add_test(tests, long_rows_are_cut_around_the_present_size);
  tcase_add_test(tests, the_speed_is_that_of_all_components);
  tcase_add_test(tests, the_component_with_a_range_is_sized_and_no_other);
  tcase_add_test(tests, each_component_with_a_range_gets_its_own_size);
  tcase_add_test(tests, what_does_not_start_at_its_new_size_has_the_old_one_again);
  tcase_add_test(tests, the_first_component_may_keep_its_size);
  tcase_add_test(tests, components_share_no_node);
  tcase_add_test(tests, who_falls_back_stays_as_it_is_with_all_components);
  tcase_add_test(tests, a_new_one_is_not_sized_before_it_ran);
  tcase_add_test(tests, what_keeps_all_of_them_at_their_sizes);
  tcase_add_test(tests, companions_are_those_of_the_first_component);
  return tests;
}
