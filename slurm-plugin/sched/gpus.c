/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "slurm-plugin/sched/gpus.h"

#define GPU "gpu"

typedef struct {
	mlq_gpu_types_t *types;
	uint16_t *idle;
	uint32_t found; /* bits */
} node_walk_t;

typedef struct {
	uint64_t held;
	const char *type;
	uint32_t entries, typed;
	bool mixed;
} job_walk_t;

typedef struct {
	const mlq_gpu_types_t *types;
	const job_details_t *details;
	mlq_waiting_snapshot_t *job;
	uint64_t gpus;
} wanted_walk_t;

/* Its data when it is an entry of that kind about GPUs. */
static void *_gpus(void *x, gres_state_type_enum_t kind)
{
	gres_state_t *gres_state = x;

	if ((gres_state->state_type != kind) ||
	    xstrcmp(gres_state->gres_name, GPU))
		return NULL;
	return gres_state->gres_data;
}

static size_t _find_type(const mlq_gpu_types_t *types, const char *name)
{
	size_t t = 0;

	while ((t < types->count) && strcmp(types->text[t], name ? name : ""))
		t++;
	return t;
}

/* MLQ_GPU_TYPES_MAX when there is no room for it. */
static size_t _type_of(mlq_gpu_types_t *types, const char *name)
{
	size_t t = _find_type(types, name);

	if ((t < types->count) || (t >= MLQ_GPU_TYPES_MAX))
		return t;
	if (name && (strlen(name) >= MLQ_GPU_TYPE_MAX))
		return MLQ_GPU_TYPES_MAX;
	strcpy(types->text[t], name ? name : "");
	types->names[t] = types->text[t];
	types->count++;
	return t;
}

static uint64_t _less(uint64_t have, uint64_t taken)
{
	return (have > taken) ? have - taken : 0;
}

static void _note_idle(node_walk_t *walk, const char *name, uint64_t idle)
{
	size_t t = _type_of(walk->types, name);

	if (t >= MLQ_GPU_TYPES_MAX)
		return;
	walk->found |= 1U << t;
	walk->idle[t] = MIN(walk->idle[t] + idle, UINT16_MAX);
}

/* What is counted by type may miss jobs that the total knows of: no type has
 * more than the total, nor all together. */
static int _note_node(void *x, void *arg)
{
	gres_node_state_t *gres_ns = _gpus(x, GRES_STATE_TYPE_NODE);
	node_walk_t *walk = arg;
	uint64_t idle, typed = 0, typed_idle = 0, excess;

	if (!gres_ns || gres_ns->no_consume)
		return 0;
	idle = _less(gres_ns->gres_cnt_avail, gres_ns->gres_cnt_alloc);
	for (int i = 0; i < gres_ns->type_cnt; i++) {
		typed += gres_ns->type_cnt_avail[i];
		typed_idle += _less(gres_ns->type_cnt_avail[i],
				    gres_ns->type_cnt_alloc[i]);
	}
	excess = _less(typed_idle, idle);
	for (int i = 0; i < gres_ns->type_cnt; i++) {
		uint64_t here = _less(gres_ns->type_cnt_avail[i],
				      gres_ns->type_cnt_alloc[i]);

		_note_idle(walk, gres_ns->type_name[i], _less(here, excess));
	}
	if (gres_ns->gres_cnt_avail > typed)
		_note_idle(walk, NULL, _less(idle, typed_idle));
	return 0;
}

extern uint32_t mlq_gpus_idle(node_record_t *node_ptr, mlq_gpu_types_t *types,
			      uint16_t idle[MLQ_GPU_TYPES_MAX])
{
	node_walk_t walk = {.types = types, .idle = idle};

	memset(idle, 0, MLQ_GPU_TYPES_MAX * sizeof(*idle));
	if (node_ptr->gres_list)
		list_for_each_ro(node_ptr->gres_list, _note_node, &walk);
	return walk.found;
}

static int _note_held(void *x, void *arg)
{
	gres_job_state_t *gres_js = _gpus(x, GRES_STATE_TYPE_JOB);
	job_walk_t *walk = arg;

	if (!gres_js || !gres_js->gres_cnt_node_alloc)
		return 0;
	for (uint32_t n = 0; n < gres_js->node_cnt; n++)
		if (gres_js->gres_cnt_node_alloc[n] < NO_CONSUME_VAL64)
			walk->held += gres_js->gres_cnt_node_alloc[n];
	return 0;
}

extern uint32_t mlq_gpus_held(job_record_t *job_ptr)
{
	job_walk_t walk = {.held = 0};

	if (job_ptr->gres_list_alloc)
		list_for_each_ro(job_ptr->gres_list_alloc, _note_held, &walk);
	return MIN(walk.held, UINT16_MAX);
}

static int _note_asked(void *x, void *arg)
{
	gres_job_state_t *gres_js = _gpus(x, GRES_STATE_TYPE_JOB);
	job_walk_t *walk = arg;

	if (!gres_js)
		return 0;
	walk->entries++;
	if (!gres_js->type_name)
		return 0;
	walk->typed++;
	walk->mixed |= walk->type && strcmp(walk->type, gres_js->type_name);
	walk->type = gres_js->type_name;
	return 0;
}

extern const char *mlq_gpu_type_asked(job_record_t *job_ptr, bool *mixed)
{
	job_walk_t walk = {.held = 0};

	if (job_ptr->gres_list_req)
		list_for_each_ro(job_ptr->gres_list_req, _note_asked, &walk);
	*mixed = walk.mixed || (walk.typed && (walk.typed < walk.entries));
	return walk.type;
}

static uint64_t _times(uint64_t each, uint32_t count)
{
	return each * ((count && (count < NO_VAL)) ? count : 1);
}

static int _note_wanted(void *x, void *arg)
{
	gres_job_state_t *gres_js = _gpus(x, GRES_STATE_TYPE_JOB);
	wanted_walk_t *walk = arg;
	uint64_t gpus, per_node;
	uint32_t cpus;

	if (!gres_js)
		return 0;
	gpus = MAX(gres_js->gres_per_job, gres_js->total_gres);
	gpus = MAX(gpus, _times(gres_js->gres_per_node,
				walk->details->min_nodes));
	gpus = MAX(gpus,
		   _times(gres_js->gres_per_task, walk->details->num_tasks));
	gpus = MAX(gpus, gres_js->gres_per_socket);
	per_node = MIN(gres_js->gres_per_node, UINT16_MAX);
	cpus = gres_js->cpus_per_gres;
	if (!cpus)
		cpus = gres_js->def_cpus_per_gres;
	walk->gpus += MIN(gpus, UINT16_MAX);
	walk->job->gpus_per_node += per_node;
	walk->job->cpus_per_gpu = MAX(walk->job->cpus_per_gpu, cpus);
	if (gres_js->type_name) {
		size_t t = _find_type(walk->types, gres_js->type_name);

		if (t < walk->types->count)
			walk->job->gpu_types |= 1U << t;
	} else {
		walk->job->gpu_types |= (1U << MLQ_GPU_TYPES_MAX) - 1;
	}
	return 0;
}

extern void mlq_gpus_wanted(job_record_t *job_ptr, const mlq_gpu_types_t *types,
			    mlq_waiting_snapshot_t *job)
{
	wanted_walk_t walk = {
		.types = types, .details = job_ptr->details, .job = job};

	if (job_ptr->gres_list_req)
		list_for_each_ro(job_ptr->gres_list_req, _note_wanted, &walk);
	job->gpus = MIN(walk.gpus, UINT16_MAX);
}
