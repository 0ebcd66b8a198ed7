/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs that wait for nothing but their turn and their resources. */
#ifndef MLQ_SCHED_WAITING_H
#define MLQ_SCHED_WAITING_H

#include "slurm-plugin/compat.h"
#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/sched/gpus.h"

#define MLQ_WAITING_MAX 256  /* jobs that CPUs are kept for */
#define MLQ_FEATURES_MAX 512 /* bytes, NUL included */

typedef struct {
	uint32_t job_id;
	uint32_t priority;
} mlq_found_t;

typedef struct {
	mlq_found_t *found; /* met by the walk over the jobs */
	size_t found_count, found_room;
	mlq_waiting_snapshot_t jobs[MLQ_WAITING_MAX];
	char features[MLQ_WAITING_MAX][MLQ_FEATURES_MAX];
	size_t count;
	unsigned char *maps; /* lists of nodes, one byte a node */
	size_t map_size, map_count;
} mlq_waiting_t;

typedef struct {
	const void *const *part_ptrs; /* compared, never followed */
	size_t part_count;
	size_t node_count;
	const mlq_gpu_types_t *gpu_types;
} mlq_parts_t;

/* Without a lock. Room for lists of so many nodes; 0 or -1. */
extern int mlq_waiting_make_room(mlq_waiting_t *waiting, size_t nodes);
extern void mlq_waiting_restart(mlq_waiting_t *waiting);
extern void mlq_waiting_free(mlq_waiting_t *waiting);

/* A pending job of the walk; needs the job read lock. */
extern void mlq_waiting_note(mlq_waiting_t *waiting, job_record_t *job_ptr,
			     time_t now);

/* After the walk, without a lock: by falling priority. Returns how many are
 * to be copied. */
extern size_t mlq_waiting_sort(mlq_waiting_t *waiting);

/* Copies what was found as number index; needs the job, node and part read
 * locks. */
extern void mlq_waiting_copy(mlq_waiting_t *waiting, size_t index,
			     const mlq_parts_t *parts);

#endif
