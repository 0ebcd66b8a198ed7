// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/test_allocation.hpp"

int main() {
  Suite* suite = suite_create("allocation");
  add_ranking_tests(suite);
  add_allocator_tests(suite);
  add_outlook_tests(suite);
  add_policy_tests(suite);
  add_job_memory_tests(suite);
  add_settle_tests(suite);
  add_pending_size_tests(suite);
  suite_add_tcase(suite, packing_cases());
  suite_add_tcase(suite, gpu_packing_cases());
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
