/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts decisions into effect: job write lock in small pieces, each record
 * looked at anew before it is touched.
 */
#ifndef MLQ_SCHED_APPLY_H
#define MLQ_SCHED_APPLY_H

#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/sched/snapshot.h"

/* Adds to stats what was held and applied. */
extern void mlq_apply(const mlq_snapshot_t *snapshot,
		      const mlq_decision_t *decisions, size_t count,
		      mlq_cycle_stats_t *stats);

/* Takes every site factor of pending ML jobs back; for an engine that failed.
 */
extern void mlq_apply_nothing(const mlq_snapshot_t *snapshot,
			      mlq_cycle_stats_t *stats);

#endif
