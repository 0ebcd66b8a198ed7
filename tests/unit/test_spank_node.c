/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SPANK plugin on the node: slurmstepd and slurmd. */
#include <dirent.h>
#include <slurm/slurm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/token/job_token.h"
#include "slurm-plugin/spank/option.h"
#include "tests/unit/spank_fixture.h"

static mlq_claims_t verified_claims(void) {
  mlq_key_t key;
  mlq_claims_t claims;

  memcpy(key.bytes, SITE_KEY, strlen(SITE_KEY));
  key.size = strlen(SITE_KEY);
  ck_assert_ptr_nonnull(job_env("MLQ_TOKEN"));
  ck_assert_int_eq(mlq_token_verify(job_env("MLQ_TOKEN"), &key, time(NULL), &claims, NULL, 0), MLQ_TOKEN_OK);
  return claims;
}

START_TEST(job_gets_address_and_token) {
  mlq_claims_t claims;

  load(S_CTX_REMOTE);
  fake.restarts = 3;
  set_job_env("SLURM_CLUSTER_NAME", "other"); /* the user's word is not taken */
  set_job_env("SLURM_JOB_CPUS_PER_NODE", "8(x2),4");
  set_job_env("SLURM_JOB_UID", "0");
  start_job("goal=max,batch=100");
  claims = verified_claims();
  ck_assert_int_eq(claims.role, MLQ_ROLE_JOB);
  ck_assert_str_eq(claims.cluster, "c1");
  ck_assert_uint_eq(claims.job_id, 77);
  ck_assert_uint_eq(claims.uid, 1234);
  ck_assert_uint_eq(claims.restarts, 3);
  ck_assert_int_eq(claims.expires - claims.issued, 2 * 86400);
  ck_assert_str_eq(job_env("MLQ_URL"), "http://head:6850");
  ck_assert_str_eq(job_env("MLQ_CLUSTER"), "c1");
  ck_assert_str_eq(job_env("MLQ_JOB"), "77");
  ck_assert_str_eq(job_env("MLQ_GOAL"), "max");
  ck_assert_str_eq(job_env("MLQ_CORES"), "20");
  ck_assert_str_eq(job_env("MLQ_GLOBAL_BATCH"), "100");
  ck_assert_str_eq(fake_log(), "");
  ck_assert(!job_env_contains(SITE_KEY));
}
END_TEST

static void inside(const char* job, const char* cluster, const char* token) {
  load(S_CTX_REMOTE);
  set_job_env("MLQ_JOB", job);
  set_job_env("MLQ_CLUSTER", cluster);
  set_job_env("MLQ_TOKEN", token);
}

START_TEST(steps_go_on_with_the_token_of_the_batch_script) {
  inside("77", "c1", "the job's");
  fake.module = "/nonexistent/module.so"; /* is not asked for */
  start_job("on");
  ck_assert_str_eq(job_env("MLQ_TOKEN"), "the job's");
  ck_assert_str_eq(job_env("MLQ_CLUSTER"), "c1");
  ck_assert_str_eq(job_env("MLQ_URL"), "http://head:6850");
  ck_assert_str_eq(fake_log(), "");
}
END_TEST

START_TEST(tokens_of_others_are_replaced) {
  char huge[2 * MLQ_TOKEN_MAX];

  memset(huge, 'x', sizeof(huge) - 1);
  huge[sizeof(huge) - 1] = '\0';
  inside("76", "c1", "another job's");
  start_job("on");
  ck_assert_uint_eq(verified_claims().job_id, 77);

  inside("77", "c2", "another cluster's");
  start_job("on");
  ck_assert_str_eq(verified_claims().cluster, "c1");

  inside("77", "c1", "");
  start_job("on");
  verified_claims();

  inside("77", "c1", huge);
  start_job("on");
  verified_claims();

  inside("77", "c1", "an earlier run's"); /* whatever the job was submitted with */
  fake.step_id = SLURM_BATCH_SCRIPT;
  fake.restarts = 1;
  start_job("on");
  ck_assert_uint_eq(verified_claims().restarts, 1);
}
END_TEST

START_TEST(without_the_module_the_job_runs) {
  load(S_CTX_REMOTE);
  fake.module = "/nonexistent/module.so";
  start_job("batch=8");
  ck_assert_int_eq(fake_errors(), 1);
  ck_assert_ptr_nonnull(strstr(fake_log(), "/nonexistent/module.so"));
  ck_assert_ptr_nonnull(strstr(fake_log(), "JobId=77 cannot report"));
  ck_assert_ptr_null(job_env("MLQ_TOKEN"));
  ck_assert_str_eq(job_env("MLQ_GLOBAL_BATCH"), "8");

  slurm_spank_exit(FAKE_SPANK, 0, NULL);
  fake_reset(S_CTX_SLURMD);
  fake.module = "/nonexistent/module.so";
  ck_assert_int_eq(slurm_spank_init(FAKE_SPANK, 4, site_args), 0);
  ck_assert_ptr_nonnull(strstr(fake_log(), "/nonexistent/module.so is not there"));
}
END_TEST

START_TEST(ranks_share_the_batch_exactly) {
  uint64_t sum = 0, size = 0;

  load(S_CTX_REMOTE);
  start_job("batch=103");
  fake.ranks = 10;
  for (fake.rank = 0; fake.rank < fake.ranks; fake.rank++) {
    ck_assert_int_eq(slurm_spank_task_init(FAKE_SPANK, 4, site_args), 0);
    ck_assert_uint_eq(strtoull(job_env("MLQ_BATCH_OFFSET"), NULL, 10), sum);
    size = strtoull(job_env("MLQ_BATCH_SIZE"), NULL, 10);
    ck_assert_uint_eq(size, fake.rank < 3 ? 11 : 10);
    sum += size;
  }
  ck_assert_uint_eq(sum, 103);
}
END_TEST

START_TEST(no_batch_no_split) {
  load(S_CTX_REMOTE);
  start_job("on");
  ck_assert_int_eq(slurm_spank_task_init(FAKE_SPANK, 4, site_args), 0);
  ck_assert_ptr_null(job_env("MLQ_BATCH_SIZE"));
  ck_assert_ptr_null(job_env("MLQ_GLOBAL_BATCH"));
}
END_TEST

static void stale(const char* job) {
  set_job_env("MLQ_JOB", job);
  set_job_env("MLQ_URL", "http://old");
  set_job_env("MLQ_TOKEN", "old");
  set_job_env("MLQ_CORES", "999");
  set_job_env("MLQ_GLOBAL_BATCH", "5");
  set_job_env("MLQ_BATCH_SIZE", "5");
}

static void assert_nothing_set(void) {
  static const char* const names[] = {"MLQ_JOB",   "MLQ_URL",          "MLQ_TOKEN",      "MLQ_CLUSTER",
                                      "MLQ_CORES", "MLQ_GLOBAL_BATCH", "MLQ_BATCH_SIZE", "MLQ_GOAL"};

  for (size_t i = 0; i < 8; i++) ck_assert_msg(!job_env(names[i]), "%s=%s", names[i], job_env(names[i]));
}

START_TEST(stale_variables_go) {
  load(S_CTX_REMOTE);
  stale("76"); /* an ordinary job, submitted from inside ML job 76 */
  start_job(NULL);
  assert_nothing_set();

  load(S_CTX_REMOTE);
  stale("77"); /* a step of this job that says off */
  start_job("off");
  assert_nothing_set();

  load(S_CTX_REMOTE);
  stale("76"); /* an ML job of its own, of a site without a key */
  unlink(site_key_path);
  start_job("on");
  ck_assert_str_eq(job_env("MLQ_JOB"), "77");
  ck_assert_ptr_null(job_env("MLQ_TOKEN"));
  ck_assert_ptr_null(job_env("MLQ_URL"));
  ck_assert_ptr_null(job_env("MLQ_CORES"));

  load(S_CTX_REMOTE);
  set_job_env("MLQ_URL", "http://mine"); /* set by hand, no job of ours around */
  start_job(NULL);
  ck_assert_str_eq(job_env("MLQ_URL"), "http://mine");
}
END_TEST

START_TEST(twin_works_without_a_command_of_slurm) {
  load(S_CTX_REMOTE);
  set_job_env(OPTION_TWIN, "goal=max");
  start_job(NULL);
  ck_assert_str_eq(job_env("MLQ_GOAL"), "max");
  ck_assert_ptr_nonnull(job_env("MLQ_TOKEN"));
  ck_assert_ptr_null(job_env(OPTION_TWIN));

  load(S_CTX_REMOTE);
  set_job_env(OPTION_TWIN, "goal=max");
  start_job("goal=min"); /* the option wins */
  ck_assert_str_eq(job_env("MLQ_GOAL"), "min");

  load(S_CTX_REMOTE);
  set_job_env(OPTION_TWIN, "");
  start_job(NULL);
  assert_nothing_set();
}
END_TEST

/* sbatch --export=NONE leaves only what begins with SLURM_. */
START_TEST(option_survives_an_empty_environment) {
  load(S_CTX_REMOTE);
  set_job_env(OPTION_DEFAULT, "goal=max");
  set_job_env(OPTION_TWIN, "goal=min");
  start_job(NULL);
  ck_assert_str_eq(job_env("MLQ_GOAL"), "max");
  ck_assert_ptr_nonnull(job_env("MLQ_TOKEN"));

  load(S_CTX_REMOTE);
  set_job_env(OPTION_DEFAULT, "goal=max");
  start_job("off");
  assert_nothing_set();
}
END_TEST

START_TEST(hostile_values_on_the_node) {
  char huge[4096];

  memset(huge, 'x', sizeof(huge) - 1);
  huge[sizeof(huge) - 1] = '\0';

  load(S_CTX_REMOTE);
  start_job("goal=up"); /* not what sbatch lets through: forged */
  assert_nothing_set();
  ck_assert_int_eq(fake_errors(), 1);

  load(S_CTX_REMOTE);
  start_job(huge);
  assert_nothing_set();
  ck_assert_int_eq(fake_errors(), 1);

  load(S_CTX_REMOTE);
  set_job_env(OPTION_TWIN, huge);
  start_job(NULL);
  assert_nothing_set();
  ck_assert_int_eq(fake_errors(), 1);

  load(S_CTX_REMOTE);
  set_job_env("MLQ_JOB", huge);
  set_job_env("SLURM_JOB_CPUS_PER_NODE", huge);
  start_job("on");
  ck_assert_str_eq(job_env("MLQ_JOB"), "77");
  ck_assert_ptr_null(job_env("MLQ_CORES"));
  ck_assert_int_eq(fake_errors(), 0);
}
END_TEST

START_TEST(failures_are_logged_once_and_the_job_runs) {
  char* no_url[] = {site_key_arg, "cluster=c1"};

  load(S_CTX_REMOTE);
  ck_assert_int_eq(fake.option->cb(0, "batch=8", 1), 0);
  ck_assert_int_eq(slurm_spank_init_post_opt(FAKE_SPANK, 2, no_url), 0);
  ck_assert_int_eq(fake_errors(), 1);
  ck_assert_ptr_nonnull(strstr(fake_log(), "plugstack.conf: url: not given"));
  ck_assert_ptr_null(job_env("MLQ_TOKEN"));
  ck_assert_int_eq(slurm_spank_task_init(FAKE_SPANK, 2, no_url), 0);
  ck_assert_str_eq(job_env("MLQ_BATCH_SIZE"), "8");

  load(S_CTX_REMOTE);
  chmod(site_key_path, 0644); /* a key that everybody can read is none */
  start_job("on");
  ck_assert_int_eq(fake_errors(), 1);
  ck_assert_ptr_nonnull(strstr(fake_log(), site_key_path));
  ck_assert_ptr_null(strstr(fake_log(), SITE_KEY));
  ck_assert_ptr_null(job_env("MLQ_TOKEN"));

  load(S_CTX_REMOTE);
  fake.item_rc = ESPANK_ERROR;
  start_job("on");
  assert_nothing_set();

  load(S_CTX_REMOTE);
  fake.setenv_rc = ESPANK_ERROR;
  start_job("on");
  assert_nothing_set();
}
END_TEST

START_TEST(extern_step_is_left_alone) {
  load(S_CTX_REMOTE);
  fake.step_id = SLURM_EXTERN_CONT;
  start_job("on");
  assert_nothing_set();
}
END_TEST

static int entries(const char* path) {
  DIR* dir = opendir(path);
  int n = 0;

  ck_assert_ptr_nonnull(dir);
  while (readdir(dir)) n++;
  closedir(dir);
  return n;
}

START_TEST(nothing_stays_open_or_running) {
  int files = entries("/proc/self/fd"), threads = entries("/proc/self/task");

  for (int i = 0; i < 3; i++) {
    load(S_CTX_REMOTE);
    start_job("batch=8");
    ck_assert_ptr_nonnull(job_env("MLQ_TOKEN"));
    slurm_spank_task_init(FAKE_SPANK, 4, site_args);
    slurm_spank_exit(FAKE_SPANK, 4, site_args);
  }
  ck_assert_int_eq(entries("/proc/self/fd"), files);
  ck_assert_int_eq(entries("/proc/self/task"), threads);
}
END_TEST

START_TEST(slurmd_tells_the_admin) {
  char* unknown[] = {"url=http://h:1", site_key_arg, "cluster=c1", "tokendays=3"};

  load(S_CTX_SLURMD);
  ck_assert_int_eq(fake_errors(), 0);
  ck_assert_str_eq(fake_log(), "ml_quality: jobs of cluster c1 report to http://head:6850\n");

  slurm_spank_exit(FAKE_SPANK, 0, NULL);
  fake_reset(S_CTX_SLURMD);
  ck_assert_int_eq(slurm_spank_init(FAKE_SPANK, 4, unknown), 0);
  ck_assert_ptr_nonnull(strstr(fake_log(), "unknown argument: given \"tokendays=3\""));
}
END_TEST

TCase* spank_node_case(void) {
  TCase* node = tcase_create("node");

  tcase_add_checked_fixture(node, site_set_up, site_tear_down);
  tcase_add_test(node, job_gets_address_and_token);
  tcase_add_test(node, steps_go_on_with_the_token_of_the_batch_script);
  tcase_add_test(node, tokens_of_others_are_replaced);
  tcase_add_test(node, without_the_module_the_job_runs);
  tcase_add_test(node, ranks_share_the_batch_exactly);
  tcase_add_test(node, no_batch_no_split);
  tcase_add_test(node, stale_variables_go);
  tcase_add_test(node, twin_works_without_a_command_of_slurm);
  tcase_add_test(node, option_survives_an_empty_environment);
  tcase_add_test(node, hostile_values_on_the_node);
  tcase_add_test(node, failures_are_logged_once_and_the_job_runs);
  tcase_add_test(node, extern_step_is_left_alone);
  tcase_add_test(node, nothing_stays_open_or_running);
  tcase_add_test(node, slurmd_tells_the_admin);
  return node;
}
