// SPDX-License-Identifier: GPL-2.0-or-later
// Sizes of pending jobs that turn out to be beyond a limit.
#include "slurm-plugin/engine/size_limit.hpp"

#include <cstring>
#include <utility>

#include "tests/unit/check_cpp.hpp"
#include "tests/unit/sizing_bench.hpp"
#include "tests/unit/test_engine.hpp"

using mlq::engine::SizeLimit;

namespace {

mlq_size_request_t with_one_gpu_each(std::uint32_t count) {
  mlq_size_request_t size = tasks(count);
  size.gpus_of = MLQ_GPUS_OF_JOB;
  size.gpus = count;
  return size;
}

/// What the sizing asked for, done.
void carry_out(SizingBench& bench, double now) {
  ck_assert_uint_eq(bench.sizings().size(), 1);
  const mlq_sizing_t sizing = bench.sizings()[0];
  mlq_engine_size_done(bench.engine.get(), now, 1, sizing.submit_time, nullptr);
  bench.job(1).size = tasks(sizing.tasks);
  bench.waiting[0].cpus = sizing.cpus;
}

/// As Slurm says it: then it waits for nothing but this.
void limit(SizingBench& bench, const char* name, std::uint32_t count) {
  bench.job(1).size.limit = name;
  bench.waiting.clear();
  if (name == nullptr) bench.wait(1, count).submit_time = bench.job(1).submit_time;
}

START_TEST(a_size_beyond_a_limit_is_taken_back) {
  for (const char* name :
       {"AssocGrpCpuLimit", "QOSMaxCpuPerUserLimit", "QOSMaxCpuPerJobLimit", "QOSMaxGRESPerUser"}) {
    SizingBench bench({8, 8});
    bench.ask(1, 4, "min=2,max=16");
    bench.turn(epoch);
    ck_assert_uint_eq(bench.sizings()[0].tasks, 16);
    carry_out(bench, epoch);
    limit(bench, name, 0);
    bench.turn(epoch + 3);  // at once
    ck_assert_uint_eq(bench.sizings()[0].tasks, 4);
    holds_text(bench.why(1),
               (std::string("size 4 cores of 2 to 16: with the 16 before it waits for ") + name).c_str());
    carry_out(bench, epoch + 3);
    limit(bench, name, 0);  // Slurm has not looked at it yet
    bench.turn(epoch + 6);
    ck_assert(bench.sizings().empty());
    holds_text(bench.why(1), (std::string("not chosen: it waits for ") + name).c_str());
    limit(bench, nullptr, 4);
    bench.turn(epoch + 605);  // and no more is put there, though it would be better
    ck_assert(bench.sizings().empty());
    holds_text(bench.why(1), (std::string("; with more it waited for ") + name).c_str());
    bench.turn(epoch + 606);  // ten minutes after it was waited for: it may have been raised
    ck_assert_uint_eq(bench.sizings()[0].tasks, 16);
    bench.used = {{0, 8}, {1, 5}};  // less still is
    bench.job(1).request = "min=2,max=16,resize=companion";
    bench.turn(epoch + 900);
    ck_assert_uint_eq(bench.sizings()[0].tasks, 3);
  }
}
END_TEST

START_TEST(a_size_below_a_least_one_is_taken_back) {
  SizingBench bench({8, 8});
  bench.used = {{0, 8}, {1, 5}};
  bench.ask(1, 12, "min=1,max=16,resize=companion");
  bench.turn(epoch);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 3);
  carry_out(bench, epoch);
  limit(bench, "QOSMinCpuNotSatisfied", 0);
  bench.turn(epoch + 3);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 12);
  carry_out(bench, epoch + 3);
  limit(bench, nullptr, 12);
  bench.turn(epoch + 60);
  ck_assert(bench.sizings().empty());
  holds_text(bench.why(1), "; with fewer it waited for QOSMinCpuNotSatisfied");
}
END_TEST

START_TEST(a_range_without_a_least_size_keeps_the_one_it_had) {
  SizingBench bench({8, 8});
  bench.ask(1, 4, "max=16");
  bench.turn(epoch);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 16);
  carry_out(bench, epoch);
  bench.turn(epoch + 20);
  holds_text(bench.why(1), "of 4 to 16");
  limit(bench, "QOSMaxCpuPerUserLimit", 0);
  bench.turn(epoch + 23);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 4);
  mlq_size_request_t size = with_one_gpu_each(16);
  ck_assert_uint_eq(range_of("unit=gpu,max=16", size).min, 16);
  mlq_request_t request;
  ck_assert_int_eq(mlq_request_parse("unit=gpu,max=16", &request, nullptr, 0), 0);
  ck_assert_uint_eq(size_range(request, size, {}, 4).min, 4);
  ck_assert_int_eq(mlq_request_parse("unit=gpu,min=2", &request, nullptr, 0), 0);
  size = with_one_gpu_each(2);
  ck_assert_uint_eq(size_range(request, size, {}, 8).max, 8);
}
END_TEST

START_TEST(a_partition_may_want_more_nodes_or_fewer) {
  for (const auto& [asked, put] : {std::pair{4U, 2U}, {2U, 4U}}) {
    SizeLimit known;
    known.put(asked, put);
    SizeRange range;
    range.nodes = true;
    range.min = 1;
    range.max = 8;
    range.asked = put;
    known.see(put);
    ck_assert_uint_eq(known.instead("PartitionNodeLimit", range, {}, 1, epoch), asked);
    known.put(put, asked);
    known.see(asked);
    range.asked = asked;
    ck_assert_uint_eq(known.instead("PartitionNodeLimit", range, {}, 900, epoch), 0);  // its user's own
    std::uint32_t min = 1, max = 8;
    known.narrow(min, max);
    ck_assert_uint_eq(min, asked > put ? 4 : 1);
    ck_assert_uint_eq(max, asked > put ? 8 : 2);
    known.rest(epoch + SizeLimit::keep_s - 1);
    ck_assert(!known.text().empty());
    known.rest(epoch + SizeLimit::keep_s);  // it may be another one by now
    check_text(known.text(), "");
    min = 1, max = 8;
    known.narrow(min, max);
    ck_assert_uint_eq(max - min, 7);
  }
}
END_TEST

START_TEST(only_what_fewer_units_have_less_of_is_halved) {
  const auto halved = [](const char* limit, bool nodes, std::uint32_t gpus, const mlq_size_request_t& size) {
    SizeRange range;
    range.nodes = nodes;
    range.gpus = gpus;
    range.asked = 8;
    range.max = 16;
    return SizeLimit().instead(limit, range, size, 60, epoch) == 4;
  };
  mlq_size_request_t size{};
  ck_assert(halved("QOSMaxCpuPerJobLimit", false, 0, size));
  ck_assert(halved("AssocMaxCpuMinutesPerJobLimit", true, 0, size));
  ck_assert(halved("QOSMaxBillingPerJob", false, 1, size));
  ck_assert(halved("QOSMaxGRESPerJob", false, 1, size));
  ck_assert(!halved("QOSMaxGRESPerJob", false, 0, size));
  ck_assert(halved("AssocMaxNodePerJobLimit", true, 0, size));
  ck_assert(!halved("AssocMaxNodePerJobLimit", false, 0, size));
  ck_assert(halved("QOSMaxMemoryPerJob", false, 0, size));
  ck_assert(!halved("QOSMaxCpuPerNode", false, 0, size));
  ck_assert(!halved("QOSMaxCpuPerUserLimit", false, 0, size));
  ck_assert(!halved("PartitionNodeLimit", true, 0, size));
  size.memory_per_node = true;
  ck_assert(!halved("QOSMaxMemoryPerJob", false, 0, size));
  ck_assert(halved("QOSMaxMemoryPerJob", true, 0, size));
  size.several_partitions = true;
  ck_assert(!halved("QOSMaxCpuPerJobLimit", false, 0, size));
  SizeRange range;  // and never out of its range
  range.asked = 64;
  range.max = 8;
  ck_assert_uint_eq(SizeLimit().instead("QOSMaxCpuPerJobLimit", range, {}, 60, epoch), 8);
  range.asked = 1;
  range.min = 6;
  ck_assert_uint_eq(SizeLimit().instead("QOSMinCpuNotSatisfied", range, {}, 60, epoch), 6);
}
END_TEST

START_TEST(a_slurmctld_that_comes_after_knows_the_earlier_size) {
  SizingBench bench({8, 8});
  bench.ask(1, 4, "min=2,max=16");
  bench.turn(epoch);
  carry_out(bench, epoch);
  bench.turn(epoch + 1);
  bench.turn(epoch + 2);
  holds_text(bench.job(1).admin_comment, R"("asked":4)");
  bench.restart();
  limit(bench, "AssocGrpCpuLimit", 0);
  bench.turn(epoch + 20);  // its first look is for the cluster
  bench.turn(epoch + 21);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 4);
  carry_out(bench, epoch + 21);
  limit(bench, nullptr, 4);
  bench.turn(epoch + 22);
  bench.turn(epoch + 23);
  ck_assert_ptr_null(strstr(bench.job(1).admin_comment, "asked"));
}
END_TEST

START_TEST(a_size_that_can_never_start_is_halved) {
  SizingBench bench({8, 8});
  bench.ask(1, 16, "min=3,max=16").submit_time = epoch;
  limit(bench, "QOSMaxCpuPerJobLimit", 0);
  bench.turn(epoch + 59);
  ck_assert(bench.sizings().empty());
  bench.turn(epoch + 60);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 8);
  carry_out(bench, epoch + 60);
  limit(bench, "QOSMaxCpuPerJobLimit", 0);
  bench.turn(epoch + 119);
  ck_assert(bench.sizings().empty());
  bench.turn(epoch + 120);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 4);
  carry_out(bench, epoch + 120);
  limit(bench, "QOSMaxCpuPerJobLimit", 0);
  bench.turn(epoch + 180);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 3);
  carry_out(bench, epoch + 180);
  limit(bench, "QOSMaxCpuPerJobLimit", 0);
  bench.turn(epoch + 900);  // its own least
  ck_assert(bench.sizings().empty());
}
END_TEST

START_TEST(what_a_user_asked_for_waits_for_its_limit) {
  SizingBench bench({8, 8});
  bench.ask(1, 16, "min=2,max=16").submit_time = epoch;
  limit(bench, "AssocGrpCpuLimit", 0);  // others' ends make room
  bench.turn(epoch + 900);
  ck_assert(bench.sizings().empty());
  holds_text(bench.why(1), "not chosen: it waits for AssocGrpCpuLimit");
  limit(bench, nullptr, 16);
  bench.used = {{0, 5}, {1, 5}};
  bench.job(1).request = "min=2,max=16,resize=companion";
  bench.turn(epoch + 1000);
  ck_assert_uint_eq(bench.sizings()[0].tasks, 6);
  carry_out(bench, epoch + 1000);
  bench.job(1).size = tasks(10);  // its user has another idea
  limit(bench, "AssocGrpCpuLimit", 0);
  bench.turn(epoch + 1100);
  ck_assert(bench.sizings().empty());
  SizingBench dry({8, 8}, "mlq_mode=dry-run");
  dry.ask(1, 16, "min=2,max=16").submit_time = epoch;
  limit(dry, "QOSMaxCpuPerJobLimit", 0);
  dry.turn(epoch + 900);
  ck_assert(dry.sizings().empty());
}
END_TEST

}  // namespace

TCase* size_limit_cases() {
  TCase* tcase = tcase_create("size limits");
  tcase_add_test(tcase, a_size_beyond_a_limit_is_taken_back);
  tcase_add_test(tcase, a_size_below_a_least_one_is_taken_back);
  tcase_add_test(tcase, a_range_without_a_least_size_keeps_the_one_it_had);
  tcase_add_test(tcase, a_partition_may_want_more_nodes_or_fewer);
  tcase_add_test(tcase, only_what_fewer_units_have_less_of_is_halved);
  tcase_add_test(tcase, a_slurmctld_that_comes_after_knows_the_earlier_size);
  tcase_add_test(tcase, a_size_that_can_never_start_is_halved);
  tcase_add_test(tcase, what_a_user_asked_for_waits_for_its_limit);
  return tcase;
}
