/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts sizes into effect, by the function that `scontrol update` ends in. */
#ifndef MLQ_SCHED_RESIZE_H
#define MLQ_SCHED_RESIZE_H

#include "slurm-plugin/engine/engine.h"

/*
 * Gives pending jobs the sizes that the engine decided last, as if their users
 * had asked for it: job_submit plugins have their say, limits when the job is to
 * start. Each record is looked at anew under the lock; what Slurm refuses is
 * told to the engine.
 */
extern void mlq_apply_sizes(mlq_engine_t *engine, mlq_cycle_stats_t *stats);

#endif
