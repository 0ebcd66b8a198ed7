/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running jobs whose allocation is to lose whole nodes. Part of engine.h. */
#ifndef MLQ_ENGINE_NODE_SHRINK_H
#define MLQ_ENGINE_NODE_SHRINK_H

#include <stdint.h>

/* The job runs nothing on these nodes any more. The caller looks again which of them are its own. */
typedef struct {
	uint32_t job_id;
	uint32_t restarts;
	int64_t submit_time;
	const char *const *nodes; /* names, as its agent told them: hostile */
	size_t node_count;
	const char *reason; /* all valid until the next mlq_engine_decide() */
} mlq_node_shrink_t;

#endif
