/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/compat.h"
#include "slurm-plugin/sched/attempt.h"
#include "slurm-plugin/sched/hold.h"
#include "slurm-plugin/sched/node_shrink.h"
#include "slurm-plugin/sched/shim.h"
#include "slurm-plugin/sched/size_request.h"

static job_record_t *_same_job(const mlq_node_shrink_t *shrink)
{
	job_record_t *job_ptr = mlq_find_job(
		shrink->job_id, shrink->submit_time, shrink->restarts);

	if (!job_ptr || !IS_JOB_RUNNING(job_ptr) ||
	    (job_ptr->job_state & JOB_STATE_FLAGS) || !job_ptr->batch_flag ||
	    !job_ptr->node_bitmap || !job_ptr->batch_host ||
	    job_ptr->het_job_id || job_ptr->fed_details ||
	    (job_ptr->gres_list_alloc && list_count(job_ptr->gres_list_alloc)))
		return NULL;
	return job_ptr;
}

static bool _left(const mlq_node_shrink_t *shrink, const char *name)
{
	for (size_t i = 0; i < shrink->node_count; i++) {
		if (!xstrcmp(shrink->nodes[i], name))
			return true;
	}
	return false;
}

/* The job's nodes without those that it left; NULL when there is none of these.
 * Names that are not of its nodes are nothing to it. */
static char *_nodes_that_stay(job_record_t *job_ptr,
			      const mlq_node_shrink_t *shrink)
{
	bitstr_t *stay = bit_copy(job_ptr->node_bitmap);
	const int last = bit_fls(stay);
	char *names = NULL;
	bool less = false;

	for (int i = bit_ffs(stay); (i >= 0) && (i <= last); i++) {
		const char *name = node_record_table_ptr[i]->name;

		if (!bit_test(stay, i) ||
		    !xstrcmp(name, job_ptr->batch_host) ||
		    !_left(shrink, name))
			continue;
		bit_clear(stay, i);
		less = true;
	}
	if (less)
		names = bitmap2node_name(stay);
	FREE_NULL_BITMAP(stay);
	return names;
}

static int _shrink(job_record_t *job_ptr, char *nodes)
{
	job_desc_msg_t desc;
	slurm_msg_t msg;

	slurm_init_job_desc_msg(&desc);
	slurm_msg_t_init(&msg);
	msg.data = &desc;
	mlq_desc_set_job(&desc, job_ptr->job_id);
	desc.req_nodes = nodes;
	/* user_id stays NO_VAL: what the user may do, and no more */
	return update_job(&msg, job_ptr->user_id, false);
}

typedef struct {
	const mlq_node_shrink_t *shrink;
	char *nodes; /* that stay; NULL when none has to go */
} attempt_t;

static int _try(void *arg)
{
	attempt_t *attempt = arg;
	job_record_t *job_ptr = _same_job(attempt->shrink);

	if (!job_ptr)
		return MLQ_NOT_TRIED;
	attempt->nodes = _nodes_that_stay(job_ptr, attempt->shrink);
	return attempt->nodes ? _shrink(job_ptr, attempt->nodes)
			      : SLURM_SUCCESS;
}

static void _apply_one(mlq_engine_t *engine, const mlq_node_shrink_t *shrink,
		       mlq_cycle_stats_t *stats)
{
	attempt_t attempt = {.shrink = shrink};
	int rc = mlq_attempt(_try, &attempt, stats);

	if (attempt.nodes && (rc == SLURM_SUCCESS)) {
		mlq_attempt_done(stats);
		info("%s: JobId=%u keeps %s: %s", plugin_type, shrink->job_id,
		     attempt.nodes, shrink->reason);
	}
	xfree(attempt.nodes);
	if ((rc != MLQ_NOT_TRIED) && !mlq_too_early(rc))
		mlq_engine_node_shrink_done(engine, time(NULL), shrink,
					    mlq_attempt_error(rc));
}

extern void mlq_apply_node_shrinks(mlq_engine_t *engine,
				   mlq_cycle_stats_t *stats)
{
	const mlq_node_shrink_t *shrinks = NULL;
	size_t count = mlq_engine_node_shrinks(engine, &shrinks);

	for (size_t i = 0; i < count; i++) {
		if (mlq_stopping())
			return;
		_apply_one(engine, &shrinks[i], stats);
	}
}
