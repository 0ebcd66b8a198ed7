/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/sched/clock.h"
#include "slurm-plugin/sched/cluster.h"
#include "slurm-plugin/sched/gpus.h"
#include "slurm-plugin/sched/shim.h"
#include "slurm-plugin/sched/waiting.h"

#define NODE_PIECE 1024 /* nodes a piece looks at */
#define WAITING_PIECE 32
#define NAME_MAX_COPY 128
#define ALL_CPUS (UINT32_MAX / 2)
#define OTHER_NODES SIZE_MAX /* not those that CPUs were counted for */
#define COMPANION "companion="

struct mlq_cluster {
	mlq_cluster_snapshot_t view;
	size_t nodes_known; /* that taken has room for */
	uint32_t *taken;    /* CPUs that jobs hold, by node */
	mlq_node_snapshot_t *nodes;
	size_t node_count;
	bool bad; /* the records are not what this was built for */
	mlq_class_snapshot_t classes[MLQ_CLASSES_MAX];
	uint64_t class_hash[MLQ_CLASSES_MAX];
	char class_features[MLQ_CLASSES_MAX][MLQ_FEATURES_MAX];
	size_t class_count;
	mlq_gpu_types_t gpu_types;
	const void *part_ptrs[MLQ_PARTITIONS_MAX]; /* compared, never followed */
	const char *part_names[MLQ_PARTITIONS_MAX];
	char part_text[MLQ_PARTITIONS_MAX][NAME_MAX_COPY];
	bool part_lends[MLQ_PARTITIONS_MAX];
	size_t part_count;
	mlq_waiting_t waiting;
};

static const slurmctld_lock_t read_locks = {.conf = READ_LOCK,
					    .job = READ_LOCK,
					    .node = READ_LOCK,
					    .part = READ_LOCK};

static uint64_t _lock(void)
{
	mlq_pause();
	lock_slurmctld(read_locks);
	return mlq_clock_us();
}

static void _unlock(uint64_t began, uint64_t *hold_us)
{
	uint64_t held = mlq_clock_us() - began;

	unlock_slurmctld(read_locks);
	if (held > *hold_us)
		*hold_us = held;
}

extern mlq_cluster_t *mlq_cluster_create(void)
{
	return calloc(1, sizeof(mlq_cluster_t));
}

extern void mlq_cluster_free(mlq_cluster_t *cluster)
{
	if (!cluster)
		return;
	free(cluster->taken);
	free(cluster->nodes);
	mlq_waiting_free(&cluster->waiting);
	free(cluster);
}

/* Room for so many nodes; no lock is held. */
static int _make_node_room(mlq_cluster_t *to, size_t nodes)
{
	void *taken, *copies;

	if (nodes <= to->nodes_known)
		return 0;
	taken = realloc(to->taken, nodes * sizeof(*to->taken));
	if (taken)
		to->taken = taken;
	copies = realloc(to->nodes, nodes * sizeof(*to->nodes));
	if (copies)
		to->nodes = copies;
	if (!taken || !copies || mlq_waiting_make_room(&to->waiting, nodes))
		return -1;
	to->nodes_known = nodes;
	return 0;
}

extern void mlq_cluster_restart(mlq_cluster_t *cluster)
{
	cluster->node_count = 0;
	mlq_waiting_restart(&cluster->waiting);
	if (cluster->nodes_known)
		memset(cluster->taken, 0,
		       cluster->nodes_known * sizeof(*cluster->taken));
}

static void _note_held(mlq_cluster_t *cluster, job_record_t *job_ptr)
{
	const job_resources_t *held = job_ptr->job_resrcs;
	uint32_t share = 0;
	int last;

	if (!held || !held->node_bitmap || !held->cpus)
		return;
	last = bit_fls(held->node_bitmap);
	for (int n = bit_ffs(held->node_bitmap);
	     (n >= 0) && (n <= last) && (share < held->nhosts); n++) {
		if (!bit_test(held->node_bitmap, n))
			continue;
		if ((size_t)n < cluster->nodes_known) {
			uint32_t *taken = &cluster->taken[n];

			if (held->whole_node == WHOLE_NODE_REQUIRED)
				*taken = ALL_CPUS;
			else if (*taken < ALL_CPUS)
				*taken += held->cpus[share];
		}
		share++;
	}
}

extern void mlq_cluster_note(mlq_cluster_t *cluster, job_record_t *job_ptr,
			     const char *request, time_t now)
{
	/* a job that is over keeps the record of what it had */
	if (IS_JOB_RUNNING(job_ptr) || IS_JOB_SUSPENDED(job_ptr) ||
	    IS_JOB_COMPLETING(job_ptr)) {
		_note_held(cluster, job_ptr);
		return;
	}
	if (!IS_JOB_PENDING(job_ptr))
		return;
	if (!request || strncmp(request, COMPANION, sizeof(COMPANION) - 1))
		mlq_waiting_note(&cluster->waiting, job_ptr, now);
}

static int _note_partition(void *x, void *arg)
{
	part_record_t *part_ptr = x;
	mlq_cluster_t *to = arg;
	size_t p = to->part_count;

	if ((p >= MLQ_PARTITIONS_MAX) || (part_ptr->magic != PART_MAGIC))
		return -1;
	to->part_ptrs[p] = part_ptr;
	snprintf(to->part_text[p], NAME_MAX_COPY, "%s",
		 part_ptr->name ? part_ptr->name : "");
	to->part_names[p] = to->part_text[p];
	/* where nodes are given whole a companion of one core takes a node */
	to->part_lends[p] = (part_ptr->state_up & PARTITION_SCHED) &&
			    part_ptr->max_share && part_ptr->node_bitmap;
	to->part_count++;
	return 0;
}

static uint64_t _hash(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211ULL;
	return (hash ^ 0xff) * 1099511628211ULL;
}

/* MLQ_CLASSES_MAX when there are too many. */
static uint32_t _class_of(mlq_cluster_t *to, node_record_t *node_ptr)
{
	const char *features = node_ptr->config_ptr->feature;
	const char *gres = node_ptr->config_ptr->gres;
	uint64_t hash = _hash(_hash(node_ptr->cpus_efctv + 1469598103934665603U,
				    features),
			      gres);
	uint32_t c = 0;

	while ((c < to->class_count) && (to->class_hash[c] != hash))
		c++;
	if ((c < to->class_count) || (c >= MLQ_CLASSES_MAX))
		return c;
	to->class_hash[c] = hash;
	snprintf(to->class_features[c], MLQ_FEATURES_MAX, "%s",
		 features ? features : "");
	to->classes[c].features = to->class_features[c];
	to->classes[c].cpus = node_ptr->cpus_efctv;
	to->classes[c].gres = gres && gres[0];
	to->classes[c].gpu_types = 0;
	to->class_count++;
	return c;
}

static bool _takes_work(node_record_t *node_ptr, int index)
{
	return avail_node_bitmap && bit_test(avail_node_bitmap, index) &&
	       !IS_NODE_DOWN(node_ptr) && !IS_NODE_DRAIN(node_ptr) &&
	       !IS_NODE_FAIL(node_ptr) && !IS_NODE_NO_RESPOND(node_ptr) &&
	       !IS_NODE_MAINT(node_ptr) &&
	       !(node_ptr->node_state & NODE_STATE_RES) &&
	       !IS_NODE_POWERED_DOWN(node_ptr) &&
	       !IS_NODE_POWERING_DOWN(node_ptr) &&
	       !IS_NODE_POWERING_UP(node_ptr) && (node_ptr->owner == NO_VAL);
}

static uint64_t _partitions_of(mlq_cluster_t *to, int index)
{
	uint64_t partitions = 0;

	for (size_t p = 0; p < to->part_count; p++) {
		const part_record_t *part_ptr = to->part_ptrs[p];

		if (to->part_lends[p] && bit_test(part_ptr->node_bitmap, index))
			partitions |= 1ULL << p;
	}
	return partitions;
}

static void _copy_gpus(mlq_cluster_t *to, node_record_t *node_ptr,
		       mlq_node_snapshot_t *node)
{
	uint32_t types = mlq_gpus_idle(node_ptr, &to->gpu_types, node->gpus);

	if (node->node_class < to->class_count)
		to->classes[node->node_class].gpu_types |= types;
	if (!node->idle)
		memset(node->gpus, 0, sizeof(node->gpus));
}

static void _copy_node(mlq_cluster_t *to, int index)
{
	node_record_t *node_ptr = node_record_table_ptr[index];
	mlq_node_snapshot_t *node = &to->nodes[index];

	memset(node, 0, sizeof(*node));
	node->node_class = MLQ_CLASSES_MAX;
	if (!node_ptr)
		return;
	if ((node_ptr->magic != NODE_MAGIC) ||
	    (node_ptr->config_ptr->magic != CONFIG_MAGIC)) {
		to->bad = true;
		return;
	}
	node->cpus = node_ptr->cpus_efctv;
	node->node_class = _class_of(to, node_ptr);
	if (_takes_work(node_ptr, index) && (to->taken[index] < node->cpus))
		node->idle = node->cpus - to->taken[index];
	node->partitions = _partitions_of(to, index);
	_copy_gpus(to, node_ptr, node);
}

/*
 * Partitions are found anew in each piece: their records may have changed. True
 * when there is another piece.
 */
static bool _node_piece(mlq_cluster_t *to, uint64_t *hold_us)
{
	uint64_t began = _lock();
	size_t nodes = mlq_stopping() ? 0 : node_record_count, end;
	bool more = false;

	to->part_count = 0;
	if (nodes && part_list && (nodes == to->nodes_known)) {
		list_for_each_ro(part_list, _note_partition, to);
		end = MIN(nodes, to->node_count + NODE_PIECE);
		while ((to->node_count < end) && !to->bad)
			_copy_node(to, to->node_count++);
		more = (to->node_count < nodes) && !to->bad;
	} else {
		to->node_count = OTHER_NODES;
	}
	_unlock(began, hold_us);
	return more;
}

/* Copies some; returns how many of them were dealt with. */
static size_t _waiting_piece(mlq_cluster_t *to, size_t done, size_t count,
			     uint64_t *hold_us)
{
	const mlq_parts_t parts = {.part_ptrs = to->part_ptrs,
				   .part_count = to->part_count,
				   .node_count = to->node_count,
				   .gpu_types = &to->gpu_types};
	uint64_t began = _lock();
	size_t end = MIN(count, done + WAITING_PIECE);

	if (mlq_stopping() || ((size_t)node_record_count != to->nodes_known))
		end = done = count;
	for (; done < end; done++)
		mlq_waiting_copy(&to->waiting, done, &parts);
	_unlock(began, hold_us);
	return end;
}

/* CPUs were counted for other nodes than there are now: the next walk will do. */
static void _follow_nodes(mlq_cluster_t *to, uint64_t *hold_us)
{
	uint64_t began = _lock();
	size_t nodes = mlq_stopping() ? 0 : node_record_count;

	_unlock(began, hold_us);
	if (nodes < to->nodes_known)
		to->nodes_known = 0;
	if (nodes)
		_make_node_room(to, nodes);
}

extern const mlq_cluster_snapshot_t *mlq_cluster_take(mlq_cluster_t *to,
						      uint64_t *hold_us)
{
	size_t waiting = mlq_waiting_sort(&to->waiting), done = 0;

	if (to->bad)
		return NULL;
	to->class_count = to->gpu_types.count = 0;
	while (_node_piece(to, hold_us))
		;
	if (to->bad) {
		error("%s: node records are not laid out as in Slurm %s with "
		      "which this was built: no job is resized",
		      plugin_type, SLURM_VERSION_STRING);
		return NULL;
	}
	if (to->node_count == OTHER_NODES) {
		_follow_nodes(to, hold_us);
		return NULL;
	}
	while (done < waiting)
		done = _waiting_piece(to, done, waiting, hold_us);
	to->view = (mlq_cluster_snapshot_t){
		.nodes = to->nodes,
		.node_count = to->node_count,
		.classes = to->classes,
		.class_count = to->class_count,
		.partitions = to->part_names,
		.partition_count = to->part_count,
		.waiting = to->waiting.jobs,
		.waiting_count = to->waiting.count,
		.gpu_types = to->gpu_types.names,
		.gpu_type_count = to->gpu_types.count,
	};
	return &to->view;
}
