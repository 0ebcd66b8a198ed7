/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One change of a job by slurmctld's own functions. */
#ifndef MLQ_SCHED_ATTEMPT_H
#define MLQ_SCHED_ATTEMPT_H

#include <limits.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/engine/engine.h"

/* It is not the job any more that was decided about, or not in its state. */
#define MLQ_NOT_TRIED INT_MIN

/* Runs under the locks that update_job(), job_requeue() and job_signal() need.
 * Returns what Slurm says, or MLQ_NOT_TRIED. */
typedef int (*mlq_attempt_fn)(void *arg);

/* Without a lock. How long the locks were held is counted. */
extern int mlq_attempt(mlq_attempt_fn attempt, void *arg,
		       mlq_cycle_stats_t *stats);

/* Without a lock, when it was done: it counts, and is to survive slurmctld. */
extern void mlq_attempt_done(mlq_cycle_stats_t *stats);

/* Slurm's words, NULL when it was done. */
extern const char *mlq_attempt_error(int rc);

#endif
