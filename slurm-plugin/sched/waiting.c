/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/sched/layout.h"
#include "slurm-plugin/sched/waiting.h"

#define FIRST_FOUND 1024
#define MAPS_MAX 64 /* lists of nodes that waiting jobs ask for or exclude */

/* As good as unknown: the engine then keeps CPUs for the job. */
#define UNKNOWN_FEATURES "("

extern int mlq_waiting_make_room(mlq_waiting_t *waiting, size_t nodes)
{
	void *grown = realloc(waiting->maps, nodes * MAPS_MAX);

	if (!grown)
		return -1;
	waiting->maps = grown;
	waiting->map_size = nodes;
	if (waiting->found)
		return 0;
	waiting->found = malloc(FIRST_FOUND * sizeof(*waiting->found));
	waiting->found_room = waiting->found ? FIRST_FOUND : 0;
	return waiting->found ? 0 : -1;
}

extern void mlq_waiting_restart(mlq_waiting_t *waiting)
{
	waiting->found_count = 0;
	waiting->count = 0;
	waiting->map_count = 0;
}

extern void mlq_waiting_free(mlq_waiting_t *waiting)
{
	free(waiting->found);
	free(waiting->maps);
}

/*
 * Waits for nothing but its turn and its resources. Reasons are a list of what
 * is known to be so: a job that waits for anything else, a limit or a date,
 * gets no CPUs kept.
 */
static bool _waits_for_resources(job_record_t *job_ptr, time_t now)
{
	switch (job_ptr->state_reason) {
	case WAIT_NO_REASON:
	case WAIT_PRIORITY:
	case WAIT_RESOURCES:
		break;
	default:
		return false;
	}
	return job_ptr->priority && job_ptr->details &&
	       !(job_ptr->job_state & JOB_STATE_FLAGS) &&
	       !(job_ptr->bit_flags & JOB_DEPENDENT) && !job_ptr->het_job_id &&
	       !job_ptr->resv_name && (job_ptr->details->begin_time <= now);
}

extern void mlq_waiting_note(mlq_waiting_t *waiting, job_record_t *job_ptr,
			     time_t now)
{
	if (!_waits_for_resources(job_ptr, now))
		return;
	if (waiting->found_count < waiting->found_room) {
		mlq_found_t *found = &waiting->found[waiting->found_count];

		found->job_id = job_ptr->job_id;
		found->priority = job_ptr->priority;
	}
	waiting->found_count++;
}

static int _by_priority(const void *a, const void *b)
{
	const mlq_found_t *x = a, *y = b;

	if (x->priority != y->priority)
		return (x->priority < y->priority) ? 1 : -1;
	return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

typedef struct {
	const mlq_parts_t *parts;
	uint64_t partitions;
} part_walk_t;

static int _add_partition(void *x, void *arg)
{
	part_walk_t *walk = arg;

	for (size_t p = 0; p < walk->parts->part_count; p++)
		if (walk->parts->part_ptrs[p] == x)
			walk->partitions |= 1ULL << p;
	return 0;
}

/* One byte a node; false when there is no room for another list. */
static bool _copy_map(mlq_waiting_t *to, bitstr_t *nodes, size_t node_count,
		      bool invert, const unsigned char **out)
{
	unsigned char *map = to->maps + to->map_count * to->map_size;

	if ((to->map_count >= MAPS_MAX) || (node_count > to->map_size))
		return false;
	to->map_count++;
	for (size_t n = 0; n < node_count; n++)
		map[n] = (bit_test(nodes, n) != 0) != invert;
	*out = map;
	return true;
}

/* False when the job is not to be kept anything for. */
static bool _fill(mlq_waiting_t *to, job_record_t *job_ptr,
		  const mlq_parts_t *parts)
{
	mlq_waiting_snapshot_t *job = &to->jobs[to->count];
	char *features = to->features[to->count];
	job_details_t *details = job_ptr->details;
	part_walk_t walk = {.parts = parts};

	memset(job, 0, sizeof(*job));
	job->job_id = job_ptr->job_id;
	job->priority = job_ptr->priority;
	job->submit_time = details->submit_time;
	if (job_ptr->part_ptr_list)
		list_for_each_ro(job_ptr->part_ptr_list, _add_partition, &walk);
	else
		_add_partition(job_ptr->part_ptr, &walk);
	job->partitions = walk.partitions;
	job->cpus = details->min_cpus;
	job->nodes = details->min_nodes;
	if (details->max_nodes && (details->max_nodes < NO_VAL))
		job->max_nodes = details->max_nodes;
	if (details->cpus_per_task && (details->cpus_per_task < NO_VAL16))
		job->cpus_per_task = details->cpus_per_task;
	if (details->pn_min_cpus < NO_VAL)
		job->cpus_per_node = details->pn_min_cpus;
	job->whole_nodes = (details->whole_node == WHOLE_NODE_REQUIRED);
	job->gres = job_ptr->gres_list_req && list_count(job_ptr->gres_list_req);
	mlq_gpus_wanted(job_ptr, parts->gpu_types, job);
	if (details->features) {
		bool fits = strlen(details->features) < MLQ_FEATURES_MAX;

		strcpy(features, fits ? details->features : UNKNOWN_FEATURES);
		job->features = features;
	}
	if (details->exc_node_bitmap &&
	    !_copy_map(to, details->exc_node_bitmap, parts->node_count, true,
		       &job->nodes_allowed))
		return false;
	if (details->req_node_bitmap &&
	    !_copy_map(to, details->req_node_bitmap, parts->node_count, false,
		       &job->nodes_required))
		return false;
	return job->partitions != 0;
}

extern void mlq_waiting_copy(mlq_waiting_t *waiting, size_t index,
			     const mlq_parts_t *parts)
{
	job_record_t *job_ptr = find_job_record(waiting->found[index].job_id);

	if (job_ptr && !mlq_layout_fault(job_ptr) && IS_JOB_PENDING(job_ptr) &&
	    job_ptr->details &&
	    (waiting->count < MLQ_WAITING_MAX) &&
	    _fill(waiting, job_ptr, parts))
		waiting->count++;
}

extern size_t mlq_waiting_sort(mlq_waiting_t *waiting)
{
	size_t count = MIN(waiting->found_count, waiting->found_room);

	if (count)
		qsort(waiting->found, count, sizeof(*waiting->found),
		      _by_priority);
	if (waiting->found_count > waiting->found_room) { /* next time */
		size_t room = waiting->found_count + waiting->found_count / 4;
		void *grown = realloc(waiting->found,
				      room * sizeof(*waiting->found));

		if (grown) {
			waiting->found = grown;
			waiting->found_room = room;
		}
	}
	return MIN(count, MLQ_WAITING_MAX);
}
