/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GPUs of nodes and jobs, out of the lists that Slurm keeps of generic
 * resources. All of it under the read locks of what it is asked about. */
#ifndef MLQ_SCHED_GPUS_H
#define MLQ_SCHED_GPUS_H

#include "slurm-plugin/compat.h"
#include "slurm-plugin/engine/engine.h"

#define MLQ_GPU_TYPE_MAX 64 /* bytes of a type's name, NUL included */

/* Types of GPUs that nodes have, in the order of their first sight. */
typedef struct {
	char text[MLQ_GPU_TYPES_MAX][MLQ_GPU_TYPE_MAX];
	const char *names[MLQ_GPU_TYPES_MAX];
	size_t count;
} mlq_gpu_types_t;

/*
 * GPUs of the node that no job has, by type; returns the types that it has as
 * bits. GPUs of a type that has no room in the table are left out, as are those
 * that jobs do not consume.
 */
extern uint32_t mlq_gpus_idle(node_record_t *node_ptr, mlq_gpu_types_t *types,
			      uint16_t idle[MLQ_GPU_TYPES_MAX]);

/* GPUs that the job has on all of its nodes. */
extern uint32_t mlq_gpus_held(job_record_t *job_ptr);

/* The one type that the job asks for, NULL if none in particular; *mixed: it
 * asks for more than one. */
extern const char *mlq_gpu_type_asked(job_record_t *job_ptr, bool *mixed);

/* Fills in what a pending job asks for. */
extern void mlq_gpus_wanted(job_record_t *job_ptr, const mlq_gpu_types_t *types,
			    mlq_waiting_snapshot_t *job);

#endif
