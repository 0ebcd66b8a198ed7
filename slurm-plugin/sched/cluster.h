/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the cluster has and who waits for it, copied under read locks in small
 * pieces: CPUs that jobs hold as the walk over the jobs comes by, then the
 * nodes, then the waiting jobs of the highest priority.
 */
#ifndef MLQ_SCHED_CLUSTER_H
#define MLQ_SCHED_CLUSTER_H

#include "slurm-plugin/compat.h"
#include "slurm-plugin/engine/engine.h"

typedef struct mlq_cluster mlq_cluster_t;

/* NULL without memory. */
extern mlq_cluster_t *mlq_cluster_create(void);
extern void mlq_cluster_free(mlq_cluster_t *cluster);

/* Before each walk over the jobs, without a lock. */
extern void mlq_cluster_restart(mlq_cluster_t *cluster);

/* One record of the walk; needs the job read lock. request: of --ml-quality,
 * NULL for an ordinary job. */
extern void mlq_cluster_note(mlq_cluster_t *cluster, job_record_t *job_ptr,
			     const char *request, time_t now);

/*
 * After the walk, without a lock: the nodes and the waiting jobs. NULL when
 * there is no memory or the nodes changed meanwhile. The longest hold goes into
 * *hold_us when it is longer than what is there.
 */
extern const mlq_cluster_snapshot_t *mlq_cluster_take(mlq_cluster_t *cluster,
						      uint64_t *hold_us);

#endif
