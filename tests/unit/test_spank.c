/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SPANK plugin in the commands of a user: sbatch, salloc, srun. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm-plugin/spank/option.h"
#include "tests/unit/spank_fixture.h"

START_TEST(one_registration_in_each_context) {
  static const spank_context_t contexts[] = {S_CTX_ALLOCATOR, S_CTX_LOCAL, S_CTX_REMOTE};

  for (size_t i = 0; i < 3; i++) {
    load(contexts[i]);
    ck_assert_int_eq(fake.registered, 1);
    ck_assert_str_eq(fake.option->name, "ml-quality");
    ck_assert_int_eq(fake.option->has_arg, 2);
    ck_assert_ptr_eq(strstr(fake.option->usage, "[ml_quality]"), fake.option->usage);
  }
  load(S_CTX_JOB_SCRIPT);
  ck_assert_int_eq(fake.registered, 0);
}
END_TEST

START_TEST(second_load_is_silent) {
  load(S_CTX_ALLOCATOR);
  ck_assert_int_eq(slurm_spank_init(FAKE_SPANK, 4, site_args), 0);
  ck_assert_int_eq(fake.registered, 1);
  ck_assert_str_eq(fake_log(), "");
}
END_TEST

/* Another file of the same plugin marked the process before this one. */
START_TEST(second_copy_is_silent) {
  char pid[24];

  slurm_spank_exit(FAKE_SPANK, 0, NULL);
  fake_reset(S_CTX_REMOTE);
  snprintf(pid, sizeof(pid), "%ld", (long)getpid());
  setenv("_MLQ_SPANK_PID", pid, 1);
  ck_assert_int_eq(slurm_spank_init(FAKE_SPANK, 4, site_args), 0);
  ck_assert_int_eq(fake.registered, 0);
  set_job_env(OPTION_TWIN, "on");
  ck_assert_int_eq(slurm_spank_init_post_opt(FAKE_SPANK, 4, site_args), 0);
  ck_assert_ptr_null(job_env("MLQ_JOB"));
  ck_assert_str_eq(fake_log(), "");

  setenv("_MLQ_SPANK_PID", "1", 1); /* a parent's mark says nothing */
  ck_assert_int_eq(slurm_spank_init(FAKE_SPANK, 4, site_args), 0);
  ck_assert_int_eq(fake.registered, 1);
  unsetenv("_MLQ_SPANK_PID");
}
END_TEST

START_TEST(submission_is_refused_with_the_reason) {
  load(S_CTX_ALLOCATOR);
  ck_assert_int_eq(fake.option->cb(0, "min=4,max=8", 0), 0);
  ck_assert_int_eq(fake.option->cb(0, "goal=up", 0), -1);
  ck_assert_str_eq(fake_log(),
                   "ml_quality: --ml-quality (or ML_QUALITY=): goal: given \"up\"; allowed: min or max\n");
}
END_TEST

START_TEST(value_reaches_the_job_record) {
  static const struct {
    const char *given, *recorded;
  } cases[] = {{"goal=max", "goal=max"}, {"", "on"}, {NULL, "on"}, {"off", "off"}};

  for (size_t i = 0; i < 4; i++) {
    load(S_CTX_ALLOCATOR);
    ck_assert_int_eq(fake.option->cb(0, "min=3", 0),
                     0); /* the script's line, overridden by the command line */
    ck_assert_int_eq(fake.option->cb(0, cases[i].given, 0), 0);
    ck_assert_int_eq(slurm_spank_init_post_opt(FAKE_SPANK, 4, site_args), 0);
    ck_assert_str_eq(record_env(OPTION_RECORD), cases[i].recorded);
    ck_assert_str_eq(getenv(OPTION_RECORD), cases[i].recorded);
    ck_assert_ptr_null(getenv("_MLQ_SPANK_PID"));
  }
  load(S_CTX_ALLOCATOR);
  ck_assert_int_eq(slurm_spank_init_post_opt(FAKE_SPANK, 4, site_args), 0);
  ck_assert_ptr_null(record_env(OPTION_RECORD));
  ck_assert_ptr_null(getenv(OPTION_RECORD));
}
END_TEST

START_TEST(twin_becomes_the_default) {
  setenv(OPTION_TWIN, "batch=64", 1);
  load(S_CTX_ALLOCATOR);
  ck_assert_str_eq(getenv(OPTION_DEFAULT), "batch=64");
  ck_assert_int_eq(slurm_spank_init_post_opt(FAKE_SPANK, 4, site_args), 0);
  ck_assert_ptr_null(getenv(OPTION_TWIN));

  setenv(OPTION_TWIN, "", 1);
  load(S_CTX_ALLOCATOR);
  ck_assert_str_eq(getenv(OPTION_DEFAULT), "off");
}
END_TEST

/* What sbatch does for the next component: it has the record's variables still, and their values as defaults,
 * which it reads behind the script's lines and before the command line. */
static const char* component(const char* line, const char* command) {
  if (record_env(OPTION_RECORD)) setenv(OPTION_DEFAULT, record_env(OPTION_RECORD), 1);
  if (line) ck_assert_int_eq(fake.option->cb(0, line, 0), 0);
  if (getenv(OPTION_DEFAULT)) ck_assert_int_eq(fake.option->cb(0, getenv(OPTION_DEFAULT), 0), 0);
  if (command) ck_assert_int_eq(fake.option->cb(0, command, 0), 0);
  ck_assert_int_eq(slurm_spank_init_post_opt(FAKE_SPANK, 4, site_args), 0);
  return record_env(OPTION_RECORD);
}

START_TEST(each_component_has_what_it_was_given) {
  load(S_CTX_ALLOCATOR);
  ck_assert_str_eq(component("min=3", NULL), "min=3");
  ck_assert_ptr_null(component(NULL, NULL));
  ck_assert_ptr_null(getenv(OPTION_RECORD));
  ck_assert_str_eq(component("min=5", NULL), "min=5");
  ck_assert_str_eq(component("min=5", "min=6"), "min=6");
  ck_assert_ptr_null(component(NULL, NULL));

  unsetenv(OPTION_DEFAULT);
  load(S_CTX_ALLOCATOR);
  ck_assert_ptr_null(component(NULL, NULL)); /* the first one has none */
  ck_assert_str_eq(component(NULL, "min=4"), "min=4");

  unsetenv(OPTION_DEFAULT);
  setenv(OPTION_TWIN, "batch=64", 1);
  load(S_CTX_ALLOCATOR); /* the twin is the first one's */
  ck_assert_str_eq(component(NULL, NULL), "batch=64");
  ck_assert_ptr_null(component(NULL, NULL));
}
END_TEST

/* Slurm calls each hook once for each line of plugstack.conf, and both of the same copy. */
START_TEST(a_copy_named_twice_keeps_each_component_its_own) {
  load(S_CTX_ALLOCATOR);
  ck_assert_int_eq(slurm_spank_init(FAKE_SPANK, 4, site_args), 0);
  for (int round = 0; round < 2; round++) {
    ck_assert_str_eq(component("min=3", NULL), "min=3");
    ck_assert_int_eq(slurm_spank_init_post_opt(FAKE_SPANK, 4, site_args), 0);
    ck_assert_str_eq(record_env(OPTION_RECORD), "min=3");
    ck_assert_ptr_null(component(NULL, NULL));
    ck_assert_int_eq(slurm_spank_init_post_opt(FAKE_SPANK, 4, site_args), 0);
    ck_assert_ptr_null(record_env(OPTION_RECORD));
  }
}
END_TEST

START_TEST(inherited_option_is_forgotten) {
  setenv(OPTION_DEFAULT, "batch=64", 1);
  setenv(OPTION_RECORD, "batch=64", 1);
  setenv("SLURM_JOB_ID", "12", 1);
  load(S_CTX_ALLOCATOR); /* sbatch inside a job: another job */
  ck_assert_ptr_null(getenv(OPTION_DEFAULT));
  ck_assert_ptr_null(getenv(OPTION_RECORD));

  setenv(OPTION_DEFAULT, "batch=64", 1);
  load(S_CTX_LOCAL); /* srun inside a job: a step of it */
  ck_assert_str_eq(getenv(OPTION_DEFAULT), "batch=64");
  setenv(OPTION_TWIN, "off", 1);
  load(S_CTX_LOCAL);
  ck_assert_str_eq(getenv(OPTION_DEFAULT), "off");
  unsetenv(OPTION_TWIN);
  unsetenv("SLURM_JOB_ID");
  load(S_CTX_LOCAL); /* srun on its own: a job */
  ck_assert_ptr_null(getenv(OPTION_DEFAULT));
}
END_TEST

int main(void) {
  Suite* suite = suite_create("spank");
  TCase* commands = tcase_create("commands");
  SRunner* runner = srunner_create(suite);
  int failed;

  tcase_add_checked_fixture(commands, site_set_up, site_tear_down);
  tcase_add_test(commands, one_registration_in_each_context);
  tcase_add_test(commands, second_load_is_silent);
  tcase_add_test(commands, second_copy_is_silent);
  tcase_add_test(commands, submission_is_refused_with_the_reason);
  tcase_add_test(commands, value_reaches_the_job_record);
  tcase_add_test(commands, twin_becomes_the_default);
  tcase_add_test(commands, each_component_has_what_it_was_given);
  tcase_add_test(commands, a_copy_named_twice_keeps_each_component_its_own);
  tcase_add_test(commands, inherited_option_is_forgotten);
  suite_add_tcase(suite, commands);
  suite_add_tcase(suite, spank_node_case());
  suite_add_tcase(suite, spank_speeds_case());
  suite_add_tcase(suite, spank_text_case());
  srunner_run_all(runner, CK_ENV);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
