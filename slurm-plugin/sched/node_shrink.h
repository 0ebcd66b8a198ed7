/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes nodes out of running jobs whose agents have left them. */
#ifndef MLQ_SCHED_NODE_SHRINK_H
#define MLQ_SCHED_NODE_SHRINK_H

#include "slurm-plugin/engine/engine.h"

/* What the last decision says, one job a lock. */
extern void mlq_apply_node_shrinks(mlq_engine_t *engine,
				   mlq_cycle_stats_t *stats);

#endif
