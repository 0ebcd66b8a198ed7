/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Companions are ended only while they are what the engine took them for. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/endings.h"
#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

#define ON(...) ((const int[]){__VA_ARGS__, -1})

static job_record_t *parent, *companion;
static mlq_ending_t ending;
static mlq_cycle_stats_t stats;

static void _setup(void)
{
	sched_setup();
	memset(&stats, 0, sizeof(stats));
	stub_add_nodes(2, 8);
	parent = stub_add(1, "resize=companion");
	companion = stub_add(2, "companion=1");
	parent->user_id = companion->user_id = 1000;
	stub_run(parent, ON(0), 2);
	stub_run(companion, ON(1), 2);
	ending = (mlq_ending_t){
		.kind = MLQ_END_ORPHAN,
		.job_id = 2,
		.user_id = 1000,
		.parent_id = 1,
		.submit_time = companion->details->submit_time,
		.reason = "job 1 does not run",
	};
}

static int _signals(void)
{
	stub_signals = 0;
	mlq_end(&ending, 1, &stats);
	return stub_signals;
}

START_TEST(orphans_alone_are_ended)
{
	ck_assert_int_eq(_signals(), 0); /* its job runs */
	parent->job_state = JOB_SUSPENDED;
	ck_assert_int_eq(_signals(), 0);
	parent->job_state = JOB_RUNNING | JOB_CONFIGURING;
	ck_assert_int_eq(_signals(), 0);
	parent->job_state = JOB_COMPLETE | JOB_COMPLETING;
	ck_assert_int_eq(_signals(), 1);
	ck_assert_uint_eq(stub_signalled, 2);
	ck_assert_uint_eq(stub_signal, SIGTERM);
	ck_assert_uint_eq(stub_signal_flags, KILL_FULL_JOB);
	parent->job_state = JOB_PENDING; /* requeued */
	ck_assert_int_eq(_signals(), 1);
	parent->job_state = JOB_RUNNING;
	parent->user_id = 1001;
	ck_assert_int_eq(_signals(), 1);
	parent->user_id = 1000;
	parent->job_id = 99;
	ending.kill = true;
	ck_assert_int_eq(_signals(), 1);
	ck_assert_uint_eq(stub_signal, SIGKILL);
	ck_assert_uint_eq(stats.endings, 4);
}
END_TEST

START_TEST(one_that_stayed_too_long_is_ended_beside_its_job)
{
	ending.kind = MLQ_END_OVERSTAYED;
	ck_assert_int_eq(_signals(), 1);
	ck_assert_uint_eq(stub_signal, SIGTERM);
	companion->job_state = JOB_SUSPENDED; /* hears no other signal */
	ck_assert_int_eq(_signals(), 1);
	ck_assert_uint_eq(stub_signal, SIGKILL);
	companion->job_state = JOB_PENDING;
	ck_assert_int_eq(_signals(), 1);
	ck_assert_uint_eq(stub_signal, SIGKILL);
}
END_TEST

START_TEST(no_other_job_is_touched)
{
	ending.kind = MLQ_END_OVERSTAYED;
	companion->spank_job_env[1] =
		"_SLURM_SPANK_OPTION_ml_quality_ml_quality=companion=11";
	ck_assert_int_eq(_signals(), 0);
	companion->spank_job_env[1] =
		"_SLURM_SPANK_OPTION_ml_quality_ml_quality=resize=companion";
	ck_assert_int_eq(_signals(), 0);
	companion->spank_job_env_size = 1;
	ck_assert_int_eq(_signals(), 0);
	companion->spank_job_env_size = 2;
	companion->spank_job_env[1] =
		"_SLURM_SPANK_OPTION_ml_quality_ml_quality=companion=1";
	ck_assert_int_eq(_signals(), 1);
	companion->restart_cnt = 1;
	ck_assert_int_eq(_signals(), 0);
	companion->restart_cnt = 0;
	companion->user_id = 1001;
	ck_assert_int_eq(_signals(), 0);
	companion->user_id = 1000;
	companion->details->submit_time++;
	ck_assert_int_eq(_signals(), 0);
	companion->details->submit_time--;
	companion->job_state = JOB_RUNNING | JOB_COMPLETING;
	ck_assert_int_eq(_signals(), 0);
	companion->job_state = JOB_COMPLETE;
	ck_assert_int_eq(_signals(), 0);
	companion->job_id = 77;
	ck_assert_int_eq(_signals(), 0);
}
END_TEST

START_TEST(many_in_small_pieces)
{
	mlq_ending_t many[100];

	ending.kind = MLQ_END_OVERSTAYED;
	for (int i = 0; i < 100; i++)
		many[i] = ending;
	stub_locks = stub_signals = 0;
	mlq_end(many, 100, &stats);
	ck_assert_int_eq(stub_signals, 100);
	ck_assert_int_ge(stub_locks, 100 / 8);
	ck_assert_uint_eq(stats.write_holds, stub_locks);
	slurmctld_config.shutdown_time = NOW;
	mlq_end(many, 100, &stats);
	ck_assert_int_eq(stub_signals, 100);
}
END_TEST

extern TCase *ending_cases(void)
{
	TCase *tests = tcase_create("endings");

	tcase_add_checked_fixture(tests, _setup, sched_teardown);
	tcase_add_test(tests, orphans_alone_are_ended);
	tcase_add_test(tests, one_that_stayed_too_long_is_ended_beside_its_job);
	tcase_add_test(tests, no_other_job_is_touched);
	tcase_add_test(tests, many_in_small_pieces);
	return tests;
}
