/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ends companions that have lost their job or stayed too long: write locks in
 * small pieces, each record and its job looked at anew before.
 */
#ifndef MLQ_SCHED_ENDINGS_H
#define MLQ_SCHED_ENDINGS_H

#include "slurm-plugin/engine/engine.h"

/* Adds to stats what was held and ended. */
extern void mlq_end(const mlq_ending_t *endings, size_t count,
		    mlq_cycle_stats_t *stats);

#endif
