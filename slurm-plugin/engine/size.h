/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The size of a pending job: what it asks for, and what it is to ask for instead. Part of engine.h. */
#ifndef MLQ_ENGINE_SIZE_H
#define MLQ_ENGINE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* What a request's number of GPUs is the number of. */
typedef enum { MLQ_GPUS_NONE, MLQ_GPUS_OF_JOB, MLQ_GPUS_OF_NODE, MLQ_GPUS_OF_TASK } mlq_gpus_of_t;

/* What a pending job asks for, as far as its size is concerned. */
typedef struct {
	const char *refusal;     /* why no other size may be put there; static storage, NULL = one may */
	uint32_t cpus;           /* at least */
	uint32_t tasks;          /* 0 = not said */
	uint32_t cpus_per_task;  /* >= 1 */
	uint32_t tasks_per_node; /* 0 = not said */
	uint32_t cpus_per_node;  /* at least; 0 = not said */
	uint32_t min_nodes;
	uint32_t max_nodes;      /* 0 = any number */
	mlq_gpus_of_t gpus_of;
	uint32_t gpus;           /* of the job, of each node or of each task; 0 = none */
	uint32_t cpus_per_gpu;   /* 0 = not said */
	bool whole_nodes;
	bool memory_per_node;    /* memory is asked for by node, not by CPU */
	bool several_partitions; /* it may start in any of them */
	const char *limit;       /* Slurm's name of a limit on sizes that it waits for; static storage, NULL = none */
} mlq_size_request_t;

/* A pending job that is to ask for another size. The caller looks again whether it still asks for `before`. */
typedef struct {
	uint32_t job_id;
	uint32_t restarts;
	int64_t submit_time;
	mlq_size_request_t before;
	uint32_t tasks;
	uint32_t cpus;
	uint32_t nodes;     /* exactly so many; 0 = as before */
	uint32_t cpus_per_task; /* 0 = as before */
	uint32_t gpus;      /* as in `before`; 0 = it asks for none */
	const char *reason; /* valid until the next mlq_engine_decide() */
} mlq_sizing_t;

#endif
