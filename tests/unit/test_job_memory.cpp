// SPDX-License-Identifier: GPL-2.0-or-later
// What a job costs in memory, counted at the allocator.
#include <malloc.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "core/allocation/policy.hpp"
#include "core/quality/curve.hpp"
#include "core/quality/history.hpp"
#include "core/throughput/iteration_time.hpp"
#include "tests/unit/test_allocation.hpp"

namespace {

std::size_t live_bytes = 0;

void* counted(std::size_t size) {
  void* block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(block);
  return block;
}

void release(void* block) {
  live_bytes -= malloc_usable_size(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
// By default it calls the one above, but not under AddressSanitizer, which then misses the matching delete.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return counted(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* block) noexcept {
  release(block);
}
void operator delete(void* block, std::size_t) noexcept {
  release(block);
}

namespace {

/// All that is kept of a job from decision to decision.
struct Known {
  mlq::LossCurve curve;
  mlq::IterationTime time;
  mlq::OutlookTracker tracker;
  mlq::Outlook outlook;
};

START_TEST(a_job_takes_less_than_two_kib_beside_its_history) {
  constexpr std::size_t count = 500;
  const std::size_t before = live_bytes;
  std::vector<Known> jobs(count);
  const std::size_t empty = live_bytes;
  for (Known& job : jobs)
    for (int k = 1; k <= 8; ++k) job.curve.add({static_cast<double>(k), std::exp(-0.1 * k), 1.0 * k, 1});
  const std::size_t histories = live_bytes - empty + count * sizeof(mlq::History);
  ck_assert_uint_gt(histories, count * 8 * 2 * sizeof(double));
  std::vector<mlq::JobView> views(count);
  for (std::size_t i = 0; i < count; ++i) {
    Known& job = jobs[i];
    job.curve.refit();
    job.time.observe(1 + static_cast<double>(i % 64), 1, 1);
    job.outlook = job.tracker.update(job.curve, 8, {});
    views[i].request.key = i;
    views[i].request.max = 64;
    views[i].rate = job.time.model();
    views[i].outlook = &job.outlook;
  }
  const std::vector<mlq::Pool> pools{{4 * count, 1}};
  const auto policy = mlq::make_policy("mlq");
  for (double now : {1000.0, 1003.0}) policy->decide({now, 3, pools, views, {}});
  const double each = static_cast<double>(live_bytes - before - histories) / count;
  ck_assert_double_gt(each, sizeof(Known) + sizeof(mlq::JobView));
  ck_assert_msg(each <= 2048, "%.0f bytes a job", each);
}
END_TEST

}  // namespace

void add_job_memory_tests(Suite* suite) {
  TCase* tests = tcase_create("job memory");
  tcase_add_test(tests, a_job_takes_less_than_two_kib_beside_its_history);
  suite_add_tcase(suite, tests);
}
