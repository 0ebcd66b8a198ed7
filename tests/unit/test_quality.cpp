// SPDX-License-Identifier: GPL-2.0-or-later
#include <check.h>

#include <cstdlib>

#include "tests/unit/quality_suites.hpp"

int main() {
  Suite* suite = suite_create("quality");
  suite_add_tcase(suite, quality_history_case());
  suite_add_tcase(suite, quality_fit_case());
  suite_add_tcase(suite, quality_curve_case());
  suite_add_tcase(suite, quality_file_case());
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
