/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running jobs that come to another size by a requeue. Part of engine.h. */
#ifndef MLQ_ENGINE_REQUEUE_H
#define MLQ_ENGINE_REQUEUE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
	MLQ_REQUEUE_WARN, /* send the signal by which the job saves: its own --signal, else SIGTERM */
	MLQ_REQUEUE_NOW,  /* requeue it without a hold, also when it ended by itself after the signal */
} mlq_requeue_kind_t;

/* What is to be done to a job. The caller looks again whether it still is that run, and whether Slurm allows it. */
typedef struct {
	mlq_requeue_kind_t kind;
	uint32_t job_id;
	uint32_t restarts;
	int64_t submit_time;
	const char *reason; /* valid until the next mlq_engine_decide() */
} mlq_requeue_t;

#endif
