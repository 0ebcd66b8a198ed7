/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which nodes are taken out of a running job, and how. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/node_shrink.h"
#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

#define ON(...) ((const int[]){__VA_ARGS__, -1})

static job_record_t *job_ptr;
static mlq_node_shrink_t shrink;
static mlq_cycle_stats_t stats;
static const char *left[4];
static char asked[128]; /* what update_job() was to leave */
static char *names[] = {"n0", "n1", "n2", "n3"};

/* the engine, as far as node_shrink.c knows it */
static int told;
static char told_error[128];

extern size_t mlq_engine_node_shrinks(mlq_engine_t *engine,
				      const mlq_node_shrink_t **shrinks)
{
	(void) engine;
	*shrinks = &shrink;
	return 1;
}

extern void mlq_engine_node_shrink_done(mlq_engine_t *engine, double now,
					const mlq_node_shrink_t *of,
					const char *error)
{
	(void) engine;
	(void) now;
	ck_assert_ptr_eq(of, &shrink);
	told++;
	snprintf(told_error, sizeof(told_error), "%s", error ? error : "");
}

/* slurmctld's bitmaps, beyond what the other tests need */
#define MAP_BYTES ((2 + STUB_NODES / 64) * sizeof(int64_t))

extern bitstr_t *bit_copy(bitstr_t *b)
{
	return memcpy(malloc(MAP_BYTES), b, MAP_BYTES);
}

extern void bit_clear(bitstr_t *b, bitoff_t bit)
{
	b[1 + bit / 64] &= ~(1ULL << (bit % 64));
}

extern void slurm_bit_free(bitstr_t **b)
{
	free(*b);
	*b = NULL;
}

extern char *bitmap2node_name(bitstr_t *b)
{
	char text[128] = "";

	for (int n = 0; n < 4; n++) {
		if (bit_test(b, n))
			strcat(text, names[n]);
	}
	snprintf(asked, sizeof(asked), "%s", text);
	return strdup(text);
}

static void _setup(void)
{
	sched_setup();
	memset(&stats, 0, sizeof(stats));
	stub_add_nodes(4, 8);
	for (int n = 0; n < 4; n++)
		stub_node(n)->name = names[n];
	job_ptr = stub_add(1, "resize=companion,min=8");
	stub_run(job_ptr, ON(0, 1, 2), 8);
	job_ptr->batch_flag = 1;
	job_ptr->batch_host = "n0";
	job_ptr->user_id = 1000;
	left[0] = "n2";
	shrink = (mlq_node_shrink_t){
		.job_id = 1,
		.submit_time = job_ptr->details->submit_time,
		.nodes = left,
		.node_count = 1,
		.reason = "a test",
	};
	stub_update_rc = SLURM_SUCCESS;
}

static int _updates(void)
{
	stub_updates = told = 0;
	asked[0] = '\0';
	mlq_apply_node_shrinks(NULL, &stats);
	return stub_updates;
}

START_TEST(what_was_left_goes_and_the_rest_stays)
{
	ck_assert_int_eq(_updates(), 1);
	ck_assert_str_eq(asked, "n0n1");
	ck_assert_uint_eq(stub_update_uid, 1000);
	ck_assert_uint_eq(stub_update.job_id, 1);
	ck_assert_int_eq(told, 1);
	ck_assert_str_eq(told_error, "");
	ck_assert_uint_eq(stats.applied, 1);
	ck_assert_int_eq(stub_saves, 1); /* a killed slurmctld knows */
	left[1] = "n1";
	shrink.node_count = 2;
	ck_assert_int_eq(_updates(), 1);
	ck_assert_str_eq(asked, "n0");
	ck_assert_int_eq(stub_saves, 2);
	stub_update_rc = ESLURM_NOT_SUPPORTED;
	ck_assert_int_eq(_updates(), 1);
	ck_assert_str_eq(told_error, "refused");
	stub_update_rc = ESLURM_JOB_SETTING_DB_INX; /* asked again next time */
	ck_assert_int_eq(_updates(), 1);
	ck_assert_int_eq(told, 0);
	ck_assert_int_eq(stub_saves, 2); /* nothing new to save */
}
END_TEST

START_TEST(names_that_mean_nothing_to_the_job)
{
	left[0] = "n3"; /* another job's, or given back before */
	left[1] = "n0"; /* the batch host */
	left[2] = "--";
	shrink.node_count = 3;
	ck_assert_int_eq(_updates(), 0);
	ck_assert_int_eq(told, 1); /* there is nothing left to do */
	ck_assert_str_eq(told_error, "");
}
END_TEST

START_TEST(no_other_job_is_touched)
{
	job_ptr->job_state = JOB_RUNNING | JOB_COMPLETING;
	ck_assert_int_eq(_updates(), 0);
	job_ptr->job_state = JOB_RUNNING | JOB_RESIZING;
	ck_assert_int_eq(_updates(), 0);
	job_ptr->job_state = JOB_SUSPENDED;
	ck_assert_int_eq(_updates(), 0);
	job_ptr->job_state = JOB_RUNNING;
	job_ptr->batch_flag = 0;
	ck_assert_int_eq(_updates(), 0);
	job_ptr->batch_flag = 1;
	job_ptr->het_job_id = 1;
	ck_assert_int_eq(_updates(), 0);
	job_ptr->het_job_id = 0;
	job_ptr->restart_cnt = 1;
	ck_assert_int_eq(_updates(), 0);
	ck_assert_int_eq(told, 0);
	job_ptr->restart_cnt = 0;
	ck_assert_int_eq(_updates(), 1);
	stub_stop_at = 1;
	stub_locks = 0;
	ck_assert_int_eq(_updates(), 0);
}
END_TEST

extern TCase *node_cases(void)
{
	TCase *tests = tcase_create("nodes");

	tcase_add_checked_fixture(tests, _setup, sched_teardown);
	tcase_add_test(tests, what_was_left_goes_and_the_rest_stays);
	tcase_add_test(tests, names_that_mean_nothing_to_the_job);
	tcase_add_test(tests, no_other_job_is_touched);
	return tests;
}
