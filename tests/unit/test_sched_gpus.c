/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the shim reads of Slurm's lists of generic resources. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/gpus.h"
#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

#define ON(...) ((const int[]){__VA_ARGS__, -1})
#define ANY ((1U << MLQ_GPU_TYPES_MAX) - 1)

static gres_state_t states[16];
static gres_node_state_t node_states[8];
static gres_job_state_t job_states[8];
static uint64_t avail[8][4], alloc[8][4];
static char *names[8][4];
static int used, nodes_used, jobs_used;

static void _setup(void)
{
	sched_cluster_setup();
	memset(states, 0, sizeof(states));
	memset(node_states, 0, sizeof(node_states));
	memset(job_states, 0, sizeof(job_states));
	memset(avail, 0, sizeof(avail));
	memset(alloc, 0, sizeof(alloc));
	used = nodes_used = jobs_used = 0;
}

static List _list(void *const *entries, int count)
{
	stub_list_t list = {.count = count};

	memcpy(list.entries, entries, count * sizeof(*entries));
	return stub_list(&list);
}

static gres_state_t *_state(char *name, gres_state_type_enum_t kind, void *data)
{
	gres_state_t *state = &states[used++];

	state->gres_name = name;
	state->state_type = kind;
	state->gres_data = data;
	return state;
}

/* So many GPUs of a node, and how many of them jobs have; types are added. */
static gres_node_state_t *_node_gpus(int node, uint64_t have, uint64_t taken)
{
	gres_node_state_t *gres_ns = &node_states[nodes_used];
	void *entries[2];

	gres_ns->gres_cnt_avail = have;
	gres_ns->gres_cnt_alloc = taken;
	gres_ns->type_cnt_avail = avail[nodes_used];
	gres_ns->type_cnt_alloc = alloc[nodes_used];
	gres_ns->type_name = names[nodes_used++];
	/* other generic resources are none of our business */
	entries[0] = _state("fpga", GRES_STATE_TYPE_NODE, NULL);
	entries[1] = _state("gpu", GRES_STATE_TYPE_NODE, gres_ns);
	stub_node(node)->gres_list = _list(entries, 2);
	stub_node(node)->config_ptr->gres = "gpu";
	return gres_ns;
}

static void _type(gres_node_state_t *gres_ns, char *name, uint64_t have,
		  uint64_t taken)
{
	gres_ns->type_name[gres_ns->type_cnt] = name;
	gres_ns->type_cnt_avail[gres_ns->type_cnt] = have;
	gres_ns->type_cnt_alloc[gres_ns->type_cnt++] = taken;
}

static gres_job_state_t *_job_gpus(void **entry, char *type)
{
	gres_job_state_t *gres_js = &job_states[jobs_used++];

	gres_js->type_name = type;
	*entry = _state("gpu", GRES_STATE_TYPE_JOB, gres_js);
	return gres_js;
}

START_TEST(idle_gpus_by_type)
{
	const mlq_cluster_snapshot_t *cluster;
	gres_node_state_t *gres_ns;

	stub_add_nodes(6, 8);
	_node_gpus(0, 4, 1); /* of no type */
	_type(_node_gpus(1, 4, 3), "a", 4, 3);
	gres_ns = _node_gpus(2, 6, 2);
	_type(gres_ns, "a", 2, 0);
	_type(gres_ns, "b", 2, 2);	   /* two more have no type */
	_type(_node_gpus(3, 4, 3), "b", 4, 0); /* counted in all alone */
	_type(_node_gpus(4, 2, 0), "b", 2, 0);
	stub_node(4)->node_state = NODE_STATE_IDLE | NODE_STATE_DRAIN;
	_node_gpus(5, 4, 0)->no_consume = true;
	cluster = sched_cluster_take();
	ck_assert_uint_eq(cluster->gpu_type_count, 3);
	ck_assert_str_eq(cluster->gpu_types[0], "");
	ck_assert_str_eq(cluster->gpu_types[1], "a");
	ck_assert_str_eq(cluster->gpu_types[2], "b");
	ck_assert_uint_eq(cluster->nodes[0].gpus[0], 3);
	ck_assert_uint_eq(cluster->nodes[1].gpus[1], 1);
	ck_assert_uint_eq(cluster->nodes[2].gpus[0], 2);
	ck_assert_uint_eq(cluster->nodes[2].gpus[1], 2);
	ck_assert_uint_eq(cluster->nodes[2].gpus[2], 0);
	ck_assert_uint_eq(cluster->nodes[3].gpus[2], 1);
	for (int t = 0; t < MLQ_GPU_TYPES_MAX; t++)
		ck_assert_uint_eq(cluster->nodes[4].gpus[t] +
					  cluster->nodes[5].gpus[t],
				  0);
}
END_TEST

START_TEST(more_types_than_there_is_room_for)
{
	const mlq_cluster_snapshot_t *cluster;
	static char text[24][100];
	gres_node_state_t *gres_ns;

	stub_add_nodes(6, 8);
	for (int n = 0; n < 5; n++) {
		gres_ns = _node_gpus(n, 4, 0);
		for (int t = 0; t < 4; t++) {
			snprintf(text[4 * n + t], 100, "t%d", 4 * n + t);
			_type(gres_ns, text[4 * n + t], 1, 0);
		}
	}
	memset(text[23], 'x', 99);
	_type(_node_gpus(5, 1, 0), text[23], 1, 0);
	cluster = sched_cluster_take();
	ck_assert_uint_eq(cluster->gpu_type_count, MLQ_GPU_TYPES_MAX);
	ck_assert_str_eq(cluster->gpu_types[15], "t15");
	for (int t = 0; t < MLQ_GPU_TYPES_MAX; t++)
		ck_assert_uint_eq(cluster->nodes[4].gpus[t] +
					  cluster->nodes[5].gpus[t],
				  0);
	ck_assert_uint_eq(sched_cluster_take()->gpu_type_count, MLQ_GPU_TYPES_MAX);
}
END_TEST

START_TEST(what_a_running_job_has_and_asked_for)
{
	const uint32_t ids[] = {1, 2, 3, 4};
	static uint64_t on_nodes[] = {2, 1}, other[] = {0, 3},
			not_consumed[] = {NO_CONSUME_VAL64};
	gres_job_state_t *gres_js;
	job_record_t *job_ptr;
	void *entries[2];

	stub_add_nodes(2, 8);
	job_ptr = stub_add(ids[0], "unit=gpu");
	stub_run(job_ptr, ON(0, 1), 4);
	_job_gpus(entries, "a");
	job_ptr->gres_list_req = _list(entries, 1);
	gres_js = _job_gpus(entries, "a");
	gres_js->gres_cnt_node_alloc = on_nodes;
	gres_js->node_cnt = 2;
	gres_js = _job_gpus(entries + 1, "b");
	gres_js->gres_cnt_node_alloc = other;
	gres_js->node_cnt = 2;
	job_ptr->gres_list_alloc = _list(entries, 2);
	job_ptr = stub_add(ids[1], "unit=gpu");
	stub_run(job_ptr, ON(0), 1);
	_job_gpus(entries, "a");
	_job_gpus(entries + 1, NULL);
	job_ptr->gres_list_req = _list(entries, 2);
	gres_js = _job_gpus(entries, NULL);
	gres_js->gres_cnt_node_alloc = not_consumed;
	gres_js->node_cnt = 1;
	job_ptr->gres_list_alloc = _list(entries, 1);
	stub_run(stub_add(ids[2], "unit=gpu"), ON(1), 1); /* none at all */
	job_ptr = stub_add(ids[3], "unit=gpu"); /* requeued: it has nothing */
	job_ptr->gres_list_alloc = _list(entries, 1);
	sched_take(4);
	ck_assert_uint_eq(snapshot.jobs[0].gpus, 6);
	ck_assert_str_eq(snapshot.jobs[0].gpu_type, "a");
	ck_assert(!snapshot.jobs[0].mixed_gpus);
	ck_assert_uint_eq(snapshot.jobs[1].gpus, 0);
	ck_assert(snapshot.jobs[1].mixed_gpus);
	ck_assert_uint_eq(snapshot.jobs[2].gpus, 0);
	ck_assert_ptr_null(snapshot.jobs[2].gpu_type);
	ck_assert(!snapshot.jobs[2].mixed_gpus);
	ck_assert_uint_eq(snapshot.jobs[3].gpus, 0);
}
END_TEST

static gres_job_state_t *_wait(uint32_t id, char *type)
{
	job_record_t *job_ptr = stub_add(id, NULL);
	gres_job_state_t *gres_js;
	void *entry;

	job_ptr->priority = 100 - id;
	job_ptr->state_reason = WAIT_RESOURCES;
	job_ptr->part_ptr = stub_part(0);
	job_ptr->details->min_nodes = 2;
	job_ptr->details->num_tasks = 6;
	gres_js = _job_gpus(&entry, type);
	job_ptr->gres_list_req = _list(&entry, 1);
	return gres_js;
}

START_TEST(what_a_waiting_job_asks_for)
{
	const mlq_cluster_snapshot_t *cluster;
	const mlq_waiting_snapshot_t *job;
	gres_job_state_t *gres_js;

	stub_add_nodes(2, 8);
	_type(_node_gpus(0, 4, 0), "a", 4, 0);
	_type(_node_gpus(1, 4, 0), "b", 4, 0);
	_wait(1, "b")->gres_per_node = 3;
	gres_js = _wait(2, NULL);
	gres_js->gres_per_job = 5;
	gres_js->cpus_per_gres = 4;
	gres_js = _wait(3, "a");
	gres_js->gres_per_task = 1;
	gres_js->def_cpus_per_gres = 2;
	_wait(4, "gone")->total_gres = 1;
	cluster = sched_cluster_take();
	ck_assert_uint_eq(cluster->waiting_count, 4);
	job = &cluster->waiting[0];
	ck_assert(job->gres);
	ck_assert_uint_eq(job->gpus, 6);
	ck_assert_uint_eq(job->gpus_per_node, 3);
	ck_assert_uint_eq(job->gpu_types, 2);
	job = &cluster->waiting[1];
	ck_assert_uint_eq(job->gpus, 5);
	ck_assert_uint_eq(job->gpus_per_node, 0);
	ck_assert_uint_eq(job->cpus_per_gpu, 4);
	ck_assert_uint_eq(job->gpu_types, ANY);
	job = &cluster->waiting[2];
	ck_assert_uint_eq(job->gpus, 6);
	ck_assert_uint_eq(job->cpus_per_gpu, 2);
	ck_assert_uint_eq(job->gpu_types, 1);
	job = &cluster->waiting[3]; /* it can run nowhere */
	ck_assert_uint_eq(job->gpus, 1);
	ck_assert_uint_eq(job->gpu_types, 0);
}
END_TEST

extern TCase *gpu_cases(void)
{
	TCase *tests = tcase_create("gpus");

	tcase_add_checked_fixture(tests, _setup, sched_cluster_teardown);
	tcase_add_test(tests, idle_gpus_by_type);
	tcase_add_test(tests, more_types_than_there_is_room_for);
	tcase_add_test(tests, what_a_running_job_has_and_asked_for);
	tcase_add_test(tests, what_a_waiting_job_asks_for);
	return tests;
}
