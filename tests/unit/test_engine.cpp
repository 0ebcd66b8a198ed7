// SPDX-License-Identifier: GPL-2.0-or-later
// The engine behind the scheduler plugin, without Slurm.
#include "tests/unit/test_engine.hpp"

#include <cstdlib>

int main() {
  Suite* suite = suite_create("engine");
  suite_add_tcase(suite, config_cases());
  suite_add_tcase(suite, comment_cases());
  suite_add_tcase(suite, message_cases());
  suite_add_tcase(suite, cycle_cases());
  suite_add_tcase(suite, failure_cases());
  suite_add_tcase(suite, target_cases());
  suite_add_tcase(suite, companion_cases());
  suite_add_tcase(suite, sizing_cases());
  suite_add_tcase(suite, size_limit_cases());
  suite_add_tcase(suite, gpu_sizing_cases());
  suite_add_tcase(suite, requeue_cases());
  suite_add_tcase(suite, het_cases());
  suite_add_tcase(suite, node_cases());
  suite_add_tcase(suite, gpu_cases());
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
