/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the shim reads of nodes, partitions and waiting jobs. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/waiting.h"
#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

#define ON(...) ((const int[]){__VA_ARGS__, -1})

START_TEST(idle_cpus_are_what_no_job_has)
{
	const mlq_cluster_snapshot_t *cluster;
	job_record_t *job_ptr;

	stub_add_nodes(6, 8);
	stub_run(stub_add(1, NULL), ON(0, 2), 3);
	stub_run(stub_add(2, "goal=max"), ON(2), 2);
	job_ptr = stub_add(3, NULL);
	stub_run(job_ptr, ON(3), 1);
	job_ptr->job_resrcs->whole_node = WHOLE_NODE_REQUIRED;
	job_ptr = stub_add(4, NULL);
	stub_run(job_ptr, ON(1), 5);
	job_ptr->job_state = JOB_COMPLETE | JOB_COMPLETING; /* still there */
	job_ptr = stub_add(5, NULL);
	stub_run(job_ptr, ON(1), 1);
	job_ptr->job_state = JOB_SUSPENDED;
	job_ptr = stub_add(6, NULL);
	stub_run(job_ptr, ON(0, 1, 2), 2);
	job_ptr->job_state = JOB_COMPLETE; /* over, though it says where it was */
	stub_node(4)->node_state = NODE_STATE_IDLE | NODE_STATE_DRAIN;
	stub_node(5)->owner = 1000;
	cluster = sched_cluster_take();
	ck_assert_uint_eq(cluster->node_count, 6);
	ck_assert_uint_eq(cluster->nodes[0].idle, 5);
	ck_assert_uint_eq(cluster->nodes[1].idle, 2);
	ck_assert_uint_eq(cluster->nodes[2].idle, 3);
	ck_assert_uint_eq(cluster->nodes[3].idle, 0);
	ck_assert_uint_eq(cluster->nodes[4].idle, 0);
	ck_assert_uint_eq(cluster->nodes[5].idle, 0);
	for (int n = 0; n < 6; n++)
		ck_assert_uint_eq(cluster->nodes[n].cpus, 8);
	/* of the ML job among them */
	ck_assert_uint_eq(snapshot.count, 1);
	ck_assert_uint_eq(snapshot.jobs[0].node, 2);
	/* counted anew, not on top */
	cluster = sched_cluster_take();
	ck_assert_uint_eq(cluster->nodes[0].idle, 5);
}
END_TEST

START_TEST(nodes_that_take_no_work)
{
	static const uint32_t flags[] = {
		NODE_STATE_FAIL,	  NODE_STATE_NO_RESPOND,
		NODE_STATE_MAINT,	  NODE_STATE_RES,
		NODE_STATE_POWERED_DOWN,  NODE_STATE_POWERING_DOWN,
		NODE_STATE_POWERING_UP,
	};
	const int count = sizeof(flags) / sizeof(flags[0]);
	const mlq_cluster_snapshot_t *cluster;

	stub_add_nodes(count + 3, 4);
	for (int n = 0; n < count; n++)
		stub_node(n)->node_state |= flags[n];
	stub_node(count)->node_state = NODE_STATE_DOWN;
	avail_node_bitmap = stub_bits(ON(0, 1, 2, 3, 4, 5, 6, 7, 8));
	cluster = sched_cluster_take();
	for (int n = 0; n <= count; n++)
		ck_assert_msg(!cluster->nodes[n].idle, "node %d", n);
	ck_assert_uint_eq(cluster->nodes[count + 1].idle, 4);
	ck_assert_uint_eq(cluster->nodes[count + 2].idle, 0);
}
END_TEST

START_TEST(classes_and_partitions)
{
	const mlq_cluster_snapshot_t *cluster;

	stub_add_nodes(5, 8);
	stub_node(1)->config_ptr->feature = "fast";
	stub_node(2)->config_ptr->feature = "fast";
	stub_node(2)->config_ptr->gres = "gpu:2";
	stub_node(3)->cpus_efctv = 6; /* specialised cores */
	stub_part(1)->name = "whole";
	stub_part(1)->max_share = 0; /* nodes are given whole */
	stub_part(2)->name = "down";
	stub_part(2)->state_up = PARTITION_DOWN;
	stub_part(3)->name = "few";
	stub_part(3)->node_bitmap = stub_bits(ON(1, 4));
	cluster = sched_cluster_take();
	ck_assert_uint_eq(cluster->class_count, 4);
	ck_assert_uint_eq(cluster->nodes[0].node_class,
			  cluster->nodes[4].node_class);
	ck_assert_str_eq(
		cluster->classes[cluster->nodes[1].node_class].features, "fast");
	ck_assert(!cluster->classes[cluster->nodes[1].node_class].gres);
	ck_assert(cluster->classes[cluster->nodes[2].node_class].gres);
	ck_assert_uint_eq(cluster->nodes[3].idle, 6);
	ck_assert_uint_eq(cluster->partition_count, 4);
	ck_assert_str_eq(cluster->partitions[3], "few");
	ck_assert_uint_eq(cluster->nodes[0].partitions, 1);
	ck_assert_uint_eq(cluster->nodes[1].partitions, 1 + 8);
}
END_TEST

static job_record_t *_wait(uint32_t id, uint32_t priority)
{
	job_record_t *job_ptr = stub_add(id, NULL);

	job_ptr->priority = priority;
	job_ptr->state_reason = WAIT_RESOURCES;
	job_ptr->part_ptr = stub_part(0);
	return job_ptr;
}

START_TEST(who_waits_for_resources_alone)
{
	const mlq_cluster_snapshot_t *cluster;
	uint32_t id = 10;

	stub_add_nodes(2, 8);
	_wait(1, 50);
	_wait(2, 70)->state_reason = WAIT_PRIORITY;
	_wait(3, 60)->state_reason = WAIT_NO_REASON;
	_wait(id++, 0);
	_wait(id++, 99)->state_reason = WAIT_QOS_MAX_CPU_PER_USER;
	_wait(id++, 99)->state_reason = WAIT_DEPENDENCY;
	_wait(id++, 99)->state_reason = WAIT_LICENSES;
	_wait(id++, 99)->state_reason = FAIL_BAD_CONSTRAINTS;
	_wait(id++, 99)->bit_flags = JOB_DEPENDENT;
	_wait(id++, 99)->details->begin_time = NOW + 1;
	_wait(id++, 99)->het_job_id = 7;
	_wait(id++, 99)->resv_name = "night";
	_wait(id++, 99)->job_state = JOB_PENDING | JOB_COMPLETING;
	_wait(id++, 99)->part_ptr = NULL;
	/* ML jobs wait as others do, companions do not */
	stub_add(40, "resize=companion")->part_ptr = stub_part(0);
	stub_add(41, "companion=7")->part_ptr = stub_part(0);
	cluster = sched_cluster_take();
	ck_assert_uint_eq(cluster->waiting_count, 4);
	ck_assert_uint_eq(cluster->waiting[0].job_id, 40); /* 1000 */
	ck_assert_uint_eq(cluster->waiting[1].job_id, 2);
	ck_assert_uint_eq(cluster->waiting[2].job_id, 3);
	ck_assert_uint_eq(cluster->waiting[3].job_id, 1);
}
END_TEST

START_TEST(what_a_waiting_job_asks_for)
{
	const mlq_cluster_snapshot_t *cluster;
	const mlq_waiting_snapshot_t *job;
	job_record_t *job_ptr;
	char features[1000];

	stub_add_nodes(3, 8);
	job_ptr = _wait(1, 9);
	job_ptr->details->min_cpus = 12;
	job_ptr->details->min_nodes = 2;
	job_ptr->details->max_nodes = 4;
	job_ptr->details->cpus_per_task = 3;
	job_ptr->details->pn_min_cpus = 6;
	job_ptr->details->whole_node = WHOLE_NODE_REQUIRED;
	job_ptr->details->features = "fast&east";
	job_ptr->details->exc_node_bitmap = stub_bits(ON(1));
	job_ptr->details->req_node_bitmap = stub_bits(ON(2));
	job_ptr = _wait(2, 8);
	job_ptr->details->cpus_per_task = NO_VAL16;
	job_ptr->details->whole_node = WHOLE_NODE_USER;
	memset(features, 'x', sizeof(features) - 1);
	features[sizeof(features) - 1] = '\0';
	job_ptr->details->features = features;
	cluster = sched_cluster_take();
	ck_assert_uint_eq(cluster->waiting_count, 2);
	job = &cluster->waiting[0];
	ck_assert_uint_eq(job->cpus, 12);
	ck_assert_uint_eq(job->nodes, 2);
	ck_assert_uint_eq(job->max_nodes, 4);
	ck_assert_uint_eq(job->cpus_per_task, 3);
	ck_assert_uint_eq(job->cpus_per_node, 6);
	ck_assert_uint_eq(job->partitions, 1);
	ck_assert(job->whole_nodes && !job->gres);
	ck_assert_str_eq(job->features, "fast&east");
	ck_assert(job->nodes_allowed[0] && !job->nodes_allowed[1] &&
		  job->nodes_allowed[2]);
	ck_assert(!job->nodes_required[0] && job->nodes_required[2]);
	job = &cluster->waiting[1];
	ck_assert_uint_eq(job->cpus_per_task, 0);
	ck_assert(!job->whole_nodes);
	ck_assert_str_eq(job->features, "("); /* too long to be understood */
	ck_assert_ptr_null(job->nodes_allowed);
	ck_assert_ptr_null(job->nodes_required);
}
END_TEST

START_TEST(the_first_of_many_that_wait)
{
	const mlq_cluster_snapshot_t *cluster;

	stub_add_nodes(2, 8);
	for (uint32_t id = 1; id <= 3000; id++)
		_wait(id, 1 + (id * 7919) % 3000);
	sched_cluster_take();
	cluster = sched_cluster_take(); /* there is room for all ids now */
	ck_assert_uint_eq(cluster->waiting_count, MLQ_WAITING_MAX);
	for (size_t i = 0; i < MLQ_WAITING_MAX; i++)
		ck_assert_uint_eq(cluster->waiting[i].priority, 3000 - i);
}
END_TEST

START_TEST(nodes_that_change_are_counted_again)
{
	stub_add_nodes(3, 8);
	sched_cluster_take();
	stub_add_nodes(5, 8);
	ck_assert_int_eq(mlq_snapshot_take(&snapshot, NOW, 60), 0);
	ck_assert_ptr_null(mlq_cluster_take(snapshot.cluster, &cluster_hold_us));
	ck_assert_uint_eq(sched_cluster_take()->node_count, 5);
	stub_add_nodes(2, 8);
	ck_assert_int_eq(mlq_snapshot_take(&snapshot, NOW, 60), 0);
	ck_assert_ptr_null(mlq_cluster_take(snapshot.cluster, &cluster_hold_us));
	ck_assert_uint_eq(sched_cluster_take()->node_count, 2);
}
END_TEST

START_TEST(records_of_another_layout)
{
	stub_add_nodes(3, 8);
	sched_cluster_take();
	stub_node(1)->magic = 1;
	ck_assert_int_eq(mlq_snapshot_take(&snapshot, NOW, 60), 0);
	ck_assert_ptr_null(mlq_cluster_take(snapshot.cluster, &cluster_hold_us));
	ck_assert_int_eq(stub_errors, 1);
	stub_node(1)->magic = NODE_MAGIC;
	ck_assert_ptr_null(mlq_cluster_take(snapshot.cluster, &cluster_hold_us));
	ck_assert_int_eq(stub_errors, 1); /* said once, passive for good */
}
END_TEST

/* From whichever lock on the plugin is to end, nothing is read behind it. */
START_TEST(stopped_behind_any_lock)
{
	int locks;

	stub_add_nodes(3, 8);
	for (uint32_t id = 1; id <= 100; id++)
		_wait(id, 1);
	sched_cluster_take();
	stub_locks = 0;
	sched_cluster_take();
	locks = stub_locks;
	for (int at = 1; at <= locks; at++) {
		stub_locks = 0;
		stub_stop_at = at;
		if (!mlq_snapshot_take(&snapshot, NOW, 60)) {
			const mlq_cluster_snapshot_t *cluster =
				mlq_cluster_take(snapshot.cluster, &cluster_hold_us);

			ck_assert(!cluster || (cluster->waiting_count < 100));
		}
		stub_stop_at = 0;
		if (at < locks)
			sched_cluster_take();
	}
}
END_TEST

extern TCase *cluster_cases(void)
{
	TCase *tests = tcase_create("cluster");

	tcase_add_checked_fixture(tests, sched_cluster_setup,
				  sched_cluster_teardown);
	tcase_add_test(tests, idle_cpus_are_what_no_job_has);
	tcase_add_test(tests, nodes_that_take_no_work);
	tcase_add_test(tests, classes_and_partitions);
	tcase_add_test(tests, who_waits_for_resources_alone);
	tcase_add_test(tests, what_a_waiting_job_asks_for);
	tcase_add_test(tests, the_first_of_many_that_wait);
	tcase_add_test(tests, nodes_that_change_are_counted_again);
	tcase_add_test(tests, stopped_behind_any_lock);
	tcase_add_test(tests, records_of_another_layout);
	return tests;
}
