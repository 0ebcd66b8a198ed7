/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requeues running jobs that are to go on at another size. */
#ifndef MLQ_SCHED_REQUEUE_H
#define MLQ_SCHED_REQUEUE_H

#include "slurm-plugin/sched/snapshot.h"

/* What the last decision says, one job a lock. */
extern void mlq_apply_requeues(mlq_engine_t *engine, mlq_cycle_stats_t *stats);

/*
 * Backfill alone starts heterogeneous jobs, and looks only when a job, a node
 * or a partition has changed. That a requeued one has become eligible is no
 * change: on a quiet cluster it would wait for ever. One that backfill has not
 * looked at since is such a change here.
 */
extern void mlq_wake_backfill(const mlq_snapshot_t *snapshot,
			      mlq_cycle_stats_t *stats);

#endif
