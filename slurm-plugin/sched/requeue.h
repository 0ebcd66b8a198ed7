/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requeues running jobs that are to go on at another size. */
#ifndef MLQ_SCHED_REQUEUE_H
#define MLQ_SCHED_REQUEUE_H

#include "slurm-plugin/engine/engine.h"

/* What the last decision says, one job a lock. */
extern void mlq_apply_requeues(mlq_engine_t *engine, mlq_cycle_stats_t *stats);

/* Marks a change of jobs when that job is mlq_het_unseen() still; 0: none. */
extern void mlq_wake_backfill(uint32_t job_id, mlq_cycle_stats_t *stats);

#endif
