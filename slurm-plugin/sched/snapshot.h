/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ML jobs of slurmctld, copied under read locks: their ids in one walk,
 * then the records in small pieces. Memory is allocated between the locks.
 */
#ifndef MLQ_SCHED_SNAPSHOT_H
#define MLQ_SCHED_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/sched/cluster.h"

typedef struct mlq_text_block mlq_text_block_t;

typedef struct {
	mlq_job_snapshot_t *jobs;
	size_t count;
	uint32_t *ids;		 /* of jobs with SPANK options */
	size_t room;		 /* jobs and ids that fit */
	mlq_text_block_t *first; /* the strings of jobs */
	mlq_text_block_t *current;
	mlq_cluster_t *cluster; /* told of every job of the walk; may be NULL */
	uint64_t hold_us; /* longest time the read locks were held */
	uint32_t het_unseen; /* a job for mlq_wake_backfill(), 0: none */
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
