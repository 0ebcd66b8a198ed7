/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/spank_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slurm-plugin/spank/option.h"

static char folder[] = "/tmp/mlq-test-spank-XXXXXX";
char site_key_path[64], site_key_arg[80];
char* site_args[4] = {"url=http://head:6850", site_key_arg, "cluster=c1", "token_days=2"};

void site_set_up(void) {
  FILE* f;

  strcpy(folder + sizeof(folder) - 7, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(site_key_path, sizeof(site_key_path), "%s/key", folder);
  snprintf(site_key_arg, sizeof(site_key_arg), "key=%s", site_key_path);
  umask(077);
  f = fopen(site_key_path, "w");
  ck_assert_ptr_nonnull(f);
  fputs(SITE_KEY, f);
  fclose(f);
  unsetenv(OPTION_TWIN);
  unsetenv(OPTION_DEFAULT);
  unsetenv(OPTION_RECORD);
  unsetenv("SLURM_JOB_ID");
}

void site_tear_down(void) {
  slurm_spank_exit(FAKE_SPANK, 0, NULL);
  unlink(site_key_path);
  rmdir(folder);
}

void load(spank_context_t context) {
  slurm_spank_exit(FAKE_SPANK, 0, NULL);
  fake_reset(context);
  ck_assert_int_eq(slurm_spank_init(FAKE_SPANK, 4, site_args), 0);
}

void start_job(const char* value) {
  if (value) ck_assert_int_eq(fake.option->cb(fake.option->val, value, 1), 0);
  ck_assert_int_eq(slurm_spank_init_post_opt(FAKE_SPANK, 4, site_args), 0);
}
