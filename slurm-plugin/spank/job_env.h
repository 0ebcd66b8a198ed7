/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The environment of the job, as slurmstepd holds it for its tasks. */
#ifndef MLQ_SPANK_JOB_ENV_H
#define MLQ_SPANK_JOB_ENV_H

#include <slurm/spank.h>
#include <stddef.h>

/* A failure is logged. */
extern void job_env_set(spank_t sp, const char *name, const char *value);

/* 1 with the text of a variable, 0 if it isn't set, -1 on fault. */
extern int job_env_read(spank_t sp, const char *name, char *text, size_t size);

#endif
