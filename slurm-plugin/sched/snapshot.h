/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ML jobs of slurmctld, copied under read locks into memory that is
 * allocated before the locks are taken.
 */
#ifndef MLQ_SCHED_SNAPSHOT_H
#define MLQ_SCHED_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "slurm-plugin/engine/engine.h"

typedef struct {
	mlq_job_snapshot_t *jobs;
	size_t count;
	size_t job_room; /* jobs that fit */
	char *text;	 /* all strings */
	size_t text_used;
	size_t text_room;
	uint64_t hold_us; /* how long the read locks were held */
	bool layout_checked;
	bool layout_bad; /* the records are not what this was built for */
} mlq_snapshot_t;

/*
 * Takes a new snapshot. ended_s: jobs that ended longer ago are left out.
 * 0, or -1 when there is no memory or the layout is bad: count is then 0.
 */
extern int mlq_snapshot_take(mlq_snapshot_t *snapshot, time_t now, int ended_s);

extern void mlq_snapshot_free(mlq_snapshot_t *snapshot);

#endif
