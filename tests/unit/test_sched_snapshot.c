/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler shim reads of slurmctld's records. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/apply.h"
#include "slurm-plugin/sched/snapshot.h"
#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

START_TEST(only_ml_jobs)
{
	job_record_t *bare;

	stub_add(1, NULL);
	stub_add(2, "goal=max");
	bare = stub_add(3, "");
	bare->spank_job_env_size = 0;
	bare->spank_job_env = NULL;
	stub_add(4, "");
	stub_add(5, "x")->details = NULL;
	sched_take(2);
	ck_assert_uint_eq(snapshot.jobs[0].job_id, 2);
	ck_assert_str_eq(snapshot.jobs[0].request, "goal=max");
	ck_assert_uint_eq(snapshot.jobs[1].job_id, 4);
	ck_assert_str_eq(snapshot.jobs[1].request, "");
}
END_TEST

START_TEST(fields_of_a_pending_job)
{
	job_record_t *job_ptr = stub_add(1, "");
	const mlq_job_snapshot_t *job;

	job_ptr->site_factor = NICE_OFFSET + 123;
	job_ptr->start_time = NOW + 500;	/* what backfill expects */
	job_ptr->end_time = NOW + 900;
	job_ptr->restart_cnt = 2;
	job_ptr->name = "train";
	sched_take(1);
	job = &snapshot.jobs[0];
	ck_assert_int_eq(job->state, MLQ_JOB_PENDING);
	ck_assert(job->rankable);
	ck_assert_int_eq(job->start_time, 0);
	ck_assert_int_eq(job->end_time, 0);
	ck_assert_uint_eq(job->cores, 4);
	ck_assert_uint_eq(job->site_factor, 123);
	ck_assert_uint_eq(job->restarts, 2);
	ck_assert_str_eq(job->name, "train");
	ck_assert_ptr_null(job->account);
	ck_assert_ptr_null(job->admin_comment);
}
END_TEST

START_TEST(fields_of_running_and_ended_jobs)
{
	job_record_t *job_ptr = stub_add(1, "");

	job_ptr->job_state = JOB_RUNNING;
	job_ptr->start_time = NOW - 100;
	job_ptr->end_time = NOW + 900;		/* by its time limit */
	job_ptr->total_cpus = 16;
	job_ptr->tot_sus_time = 20;
	job_ptr = stub_add(2, "");
	job_ptr->job_state = JOB_SUSPENDED;
	job_ptr->tot_sus_time = 5;
	job_ptr->suspend_time = NOW - 30;
	job_ptr = stub_add(3, "");
	job_ptr->job_state = JOB_COMPLETE | JOB_COMPLETING;
	job_ptr->end_time = NOW - 10;
	job_ptr = stub_add(4, "");
	job_ptr->job_state = JOB_FAILED;
	job_ptr->end_time = NOW - 61;
	sched_take(3);
	ck_assert_int_eq(snapshot.jobs[0].state, MLQ_JOB_RUNNING);
	ck_assert_int_eq(snapshot.jobs[0].start_time, NOW - 100);
	ck_assert_int_eq(snapshot.jobs[0].end_time, 0);
	ck_assert_uint_eq(snapshot.jobs[0].cores, 16);
	ck_assert_int_eq(snapshot.jobs[0].suspended_s, 20);
	ck_assert_int_eq(snapshot.jobs[1].suspended_s, 35);
	ck_assert_int_eq(snapshot.jobs[2].state, MLQ_JOB_ENDED);
	ck_assert_int_eq(snapshot.jobs[2].end_time, NOW - 10);
	ck_assert_str_eq(snapshot.jobs[2].end_state, "COMPLETED");
	for (int i = 0; i < 3; i++)
		ck_assert(!snapshot.jobs[i].rankable);
}
END_TEST

START_TEST(left_to_slurm)
{
	stub_add(1, "")->priority = 0;
	stub_add(2, "")->direct_set_prio = 1;
	stub_add(3, "")->het_job_id = 3;
	stub_add(4, "")->job_state = JOB_PENDING | JOB_COMPLETING;
	stub_add(5, "")->job_state = JOB_PENDING | JOB_REQUEUE_HOLD;
	sched_take(5);
	for (int i = 0; i < 5; i++) {
		ck_assert_msg(!snapshot.jobs[i].rankable, "job %u", i + 1);
		ck_assert_ptr_nonnull(snapshot.jobs[i].not_ranked);
	}
	ck_assert_str_eq(snapshot.jobs[0].not_ranked, "held");
}
END_TEST

START_TEST(components_of_a_heterogeneous_job)
{
	job_record_t *leader = stub_add(5, "resize=requeue");
	job_record_t *second = stub_add(6, NULL);

	stub_add(4, "");
	stub_het(leader, second);
	leader->batch_flag = second->batch_flag = 1;
	leader->details->requeue = second->details->requeue = 1;
	leader->details->min_cpus = 3;
	second->details->min_cpus = 8;
	sched_take(2);
	ck_assert_uint_eq(snapshot.jobs[0].het_job_id, 5);
	ck_assert_uint_eq(snapshot.jobs[0].het_offset, 0);
	ck_assert_uint_eq(snapshot.jobs[0].cores, 3);
	ck_assert_uint_eq(snapshot.jobs[0].het_cores, 11);
	ck_assert(snapshot.jobs[0].requeue);
	ck_assert_uint_eq(snapshot.jobs[1].het_job_id, 0);
	ck_assert_uint_eq(snapshot.jobs[1].het_cores, 0);
	leader->job_state = second->job_state = JOB_RUNNING;
	leader->total_cpus = 4;
	second->total_cpus = 10;
	sched_take(2);
	ck_assert_uint_eq(snapshot.jobs[0].het_cores, 14);
	second->details->requeue = 0; /* they are requeued together */
	sched_take(2);
	ck_assert(!snapshot.jobs[0].requeue);
	second->details->requeue = 1;
	leader->het_job_list = NULL; /* nothing is known of the others */
	sched_take(2);
	ck_assert(!snapshot.jobs[0].requeue);
	ck_assert_uint_eq(snapshot.jobs[0].het_cores, 0);
}
END_TEST

START_TEST(many_jobs_in_small_pieces)
{
	char name[1500];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (uint32_t i = 1; i <= 2000; i++)
		stub_add(i, "family=x")->name = name;
	sched_take(2000);
	ck_assert_int_ge(stub_locks, 2000 / 64);
	for (uint32_t i = 0; i < 2000; i++) {
		ck_assert_uint_eq(snapshot.jobs[i].job_id, i + 1);
		ck_assert_uint_eq(strlen(snapshot.jobs[i].name), 1024);
		ck_assert_str_eq(snapshot.jobs[i].request, "family=x");
	}
	stub_reset();
	stub_add(9, "");
	sched_take(1);	/* memory is used again */
}
END_TEST

/* A job that is purged between two pieces of the walk moves all others: none
 * may be lost or be there twice. */
START_TEST(purge_during_the_walk)
{
	/* two walks of four pieces each, for the first finds too little room;
	 * then the first job is copied */
	for (int lock = 1; lock <= 9; lock++) {
		sched_teardown();
		sched_setup();
		for (uint32_t i = 1; i <= 1000; i++)
			stub_add(i, "");
		stub_purge_at = lock;
		sched_take(999);
		for (uint32_t i = 0; i < 999; i++)
			ck_assert_uint_eq(snapshot.jobs[i].job_id, i + 2);
	}
}
END_TEST

START_TEST(bad_layouts)
{
	for (int i = 0; i < 6; i++) {
		job_record_t *job_ptr;

		sched_setup();
		job_ptr = stub_add(1, "");
		switch (i) {
		case 0:
			job_ptr->magic++;
			break;
		case 1:
			job_ptr->details->magic++;
			break;
		case 2:
			job_ptr->job_state = 0xff;
			break;
		case 3:
			job_ptr->job_id = 0;
			break;
		case 4:
			job_ptr->spank_job_env = NULL;
			break;
		case 5:
			job_ptr->details = (struct job_details *) 0x1001;
			break;
		}
		ck_assert_int_eq(mlq_snapshot_take(&snapshot, NOW, 60), -1);
		ck_assert(snapshot.layout_bad);
		ck_assert_int_eq(stub_errors, 1);
		/* and never again, nor another line */
		ck_assert_int_eq(mlq_snapshot_take(&snapshot, NOW, 60), -1);
		ck_assert_int_eq(stub_errors, 1);
		ck_assert_int_eq(stub_locks, 1);
		sched_teardown();
	}
}
END_TEST

extern TCase *snapshot_cases(void)
{
	TCase *tests = tcase_create("snapshot");

	tcase_add_checked_fixture(tests, sched_setup, sched_teardown);
	tcase_add_test(tests, only_ml_jobs);
	tcase_add_test(tests, fields_of_a_pending_job);
	tcase_add_test(tests, fields_of_running_and_ended_jobs);
	tcase_add_test(tests, left_to_slurm);
	tcase_add_test(tests, components_of_a_heterogeneous_job);
	tcase_add_test(tests, many_jobs_in_small_pieces);
	tcase_add_test(tests, purge_during_the_walk);
	tcase_add_test(tests, bad_layouts);
	return tests;
}
