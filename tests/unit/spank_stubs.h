/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Slurm that the tests hold in their hands: one job, its environment, its log. */
#ifndef MLQ_TESTS_SPANK_STUBS_H
#define MLQ_TESTS_SPANK_STUBS_H

#include <slurm/spank.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
  spank_context_t context;
  uid_t uid;
  uint32_t job_id, step_id, restarts, rank, ranks, node;
  int task; /* local number */
  int item_rc;   /* what spank_get_item answers when not ESPANK_SUCCESS */
  int setenv_rc; /* what spank_setenv answers when not ESPANK_SUCCESS */
  struct spank_option* option;
  int registered;
  const char* module; /* that signs tokens */
} fake_slurm_t;

extern fake_slurm_t fake;
#define FAKE_SPANK ((spank_t)&fake)

/* A job of uid 1234 with an empty environment and an empty log. */
void fake_reset(spank_context_t context);

/* The job's environment; the record's (spank_job_env) one. NULL = not set. */
const char* job_env(const char* name);
void set_job_env(const char* name, const char* value);
const char* record_env(const char* name);
/* Whether any value of the job's environment contains text. */
int job_env_contains(const char* text);

/* Every line logged since fake_reset, and how many errors were among them. */
const char* fake_log(void);
int fake_errors(void);

#endif
