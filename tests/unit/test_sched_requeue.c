/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which jobs are told to save and requeued, and how. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/requeue.h"
#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

static job_record_t *job_ptr;
static mlq_requeue_t requeue;
static mlq_cycle_stats_t stats;

/* the engine, as far as requeue.c knows it */
static int told;
static char told_error[128];

extern size_t mlq_engine_requeues(mlq_engine_t *engine,
				  const mlq_requeue_t **requeues)
{
	(void) engine;
	*requeues = &requeue;
	return 1;
}

extern void mlq_engine_requeue_done(mlq_engine_t *engine, double now,
				    const mlq_requeue_t *of, const char *error)
{
	(void) engine;
	(void) now;
	ck_assert_ptr_eq(of, &requeue);
	told++;
	snprintf(told_error, sizeof(told_error), "%s", error ? error : "");
}

static void _setup(void)
{
	sched_setup();
	memset(&stats, 0, sizeof(stats));
	stub_add_nodes(1, 8);
	job_ptr = stub_add(1, "resize=requeue,min=2,max=8");
	stub_run(job_ptr, (const int[]){0, -1}, 2);
	job_ptr->batch_flag = 1;
	job_ptr->array_task_id = NO_VAL;
	job_ptr->user_id = 1000;
	job_ptr->details->core_spec = NO_VAL16;
	job_ptr->details->requeue = 1;
	requeue = (mlq_requeue_t){
		.kind = MLQ_REQUEUE_NOW,
		.job_id = 1,
		.submit_time = job_ptr->details->submit_time,
		.reason = "a test",
	};
	stub_requeue_rc = SLURM_SUCCESS;
}

/* How many jobs were requeued, told by their own signal, and by SIGTERM. */
static int _done(mlq_requeue_kind_t kind)
{
	requeue.kind = kind;
	stub_saves = stub_requeues = stub_warnings = stub_signals = told = 0;
	mlq_apply_requeues(NULL, &stats);
	return stub_requeues * 100 + stub_warnings * 10 + stub_signals;
}

START_TEST(requeued_as_its_user_would_and_never_held)
{
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 100);
	ck_assert_int_eq(stub_saves, 1); /* a killed slurmctld knows */
	ck_assert_uint_eq(stub_requeued, 1);
	ck_assert_uint_eq(stub_requeue_uid, 1000);
	ck_assert_int_eq(told, 1);
	ck_assert_str_eq(told_error, "");
	ck_assert_uint_eq(stats.applied, 1);
	stub_requeue_rc = ESLURM_DISABLED;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 100);
	ck_assert_str_eq(told_error, "refused");
}
END_TEST

START_TEST(told_by_its_own_signal_else_by_sigterm)
{
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 1);
	ck_assert_uint_eq(stub_signal, SIGTERM);
	ck_assert_uint_eq(stub_signal_flags, KILL_FULL_JOB);
	job_ptr->step_list = stub_step(SLURM_BATCH_SCRIPT);
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 1);
	ck_assert_uint_eq(stub_signal_flags, KILL_FULL_JOB);
	job_ptr->step_list = stub_step(0); /* the training is srun's */
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 1);
	ck_assert_uint_eq(stub_signal_flags, KILL_STEPS_ONLY);
	job_ptr->warn_signal = SIGUSR1;
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 10);
	ck_assert_uint_eq(stub_signalled, 1);
}
END_TEST

START_TEST(one_that_ended_by_itself_is_requeued_and_no_other)
{
	job_ptr->job_state = JOB_COMPLETE;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 100);
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 0);
	job_ptr->job_state = JOB_FAILED;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 100);
	job_ptr->job_state = JOB_COMPLETE | JOB_COMPLETING; /* a moment later */
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	for (int state = JOB_PENDING; state < JOB_END; state++) {
		if ((state == JOB_RUNNING) || (state == JOB_COMPLETE) ||
		    (state == JOB_FAILED))
			continue;
		job_ptr->job_state = state;
		ck_assert_msg(!_done(MLQ_REQUEUE_NOW), "state %d", state);
		ck_assert_msg(!_done(MLQ_REQUEUE_WARN), "state %d", state);
		ck_assert_int_eq(told, 0);
	}
}
END_TEST

/* A running job of two components, job_ptr the second one. */
static job_record_t *_leader(void)
{
	job_record_t *leader = stub_add(9, "");

	leader->batch_flag = 1;
	leader->details->requeue = 1;
	leader->array_task_id = NO_VAL;
	leader->user_id = 1000;
	leader->job_state = JOB_RUNNING;
	stub_het(leader, job_ptr);
	return leader;
}

/* Followed by its second component; Slurm requeues it by its leader. */
START_TEST(a_heterogeneous_job_goes_as_a_whole)
{
	job_record_t *leader = _leader();

	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 100);
	ck_assert_uint_eq(stub_requeued, 9);
	ck_assert_int_eq(told, 1);
	/* the batch script is the leader's; with srun all steps are told */
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 1);
	ck_assert_uint_eq(stub_signalled, 9);
	ck_assert_uint_eq(stub_signal_flags, KILL_FULL_JOB);
	job_ptr->step_list = stub_step(0);
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 1);
	ck_assert_uint_eq(stub_signalled, 1);
	ck_assert_uint_eq(stub_signal_flags, KILL_STEPS_ONLY);
	leader->step_list = stub_step(0);
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 2);
	leader->warn_signal = SIGUSR1;
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 10);
	ck_assert_uint_eq(stub_signalled, 9);
	/* both have saved and ended */
	leader->job_state = job_ptr->job_state = JOB_COMPLETE;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 100);
	/* or are still busy with it */
	leader->job_state = JOB_COMPLETE | JOB_COMPLETING;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	ck_assert_int_eq(told, 0);
}
END_TEST

/* Slurm would requeue those that it can, and leave the others as they are. */
START_TEST(no_part_of_a_heterogeneous_job_is_requeued)
{
	job_record_t *leader = _leader();

	leader->job_state = JOB_CANCELLED;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	ck_assert_str_eq(told_error, "refused"); /* not asked for ever */
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 0);
	ck_assert_str_eq(told_error, "refused");
	leader->job_state = JOB_COMPLETE; /* the other one still runs */
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	leader->job_state = JOB_RUNNING;
	leader->details->requeue = 0; /* --no-requeue */
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	leader->details->requeue = 1;
	leader->het_job_id = 8;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	leader->het_job_id = 9;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 100);
}
END_TEST

/* Whether backfill would look for our sake; no lock is taken when not. */
static bool _woken(void)
{
	const time_t before = last_job_update;

	sched_take(1);
	stats.write_holds = stub_locks = 0;
	mlq_wake_backfill(snapshot.het_unseen, &stats);
	ck_assert_int_eq(stub_locks, stats.write_holds);
	ck_assert_int_eq(stub_locks, last_job_update != before);
	return last_job_update != before;
}

/* The same, when nothing has changed for long. */
static bool _woken_on_a_quiet_cluster(void)
{
	last_job_update = NOW - 100;
	return _woken();
}

/* Two components that were requeued, and are eligible since a moment. */
static job_record_t *_waiting(void)
{
	job_record_t *second = stub_add(2, NULL);

	second->details->requeue = second->batch_flag = 1;
	stub_het(job_ptr, second);
	job_ptr->job_state = second->job_state = JOB_PENDING;
	job_ptr->priority = second->priority = 1;
	job_ptr->restart_cnt = second->restart_cnt = 1;
	job_ptr->details->begin_time = NOW - 10;
	second->details->begin_time = NOW - 5;
	return second;
}

START_TEST(backfill_is_woken_once)
{
	_waiting();
	ck_assert(_woken_on_a_quiet_cluster());
	ck_assert(!_woken());
	last_job_update = NOW - 6; /* before the second one was eligible */
	ck_assert(_woken());
	last_job_update = NOW - 5; /* by somebody else */
	ck_assert(!_woken());
	last_job_update = NOW - 100;
	sched_take(1);
	job_ptr->job_state = JOB_CANCELLED; /* before the lock was had */
	mlq_wake_backfill(snapshot.het_unseen, &stats);
	ck_assert_int_eq(last_job_update, NOW - 100);
}
END_TEST

START_TEST(backfill_is_woken_for_none_that_it_would_not_start)
{
	job_record_t *second = _waiting();

	for (int i = 0; i < 2; i++) {
		job_record_t *one = i ? second : job_ptr;
		const time_t begin = one->details->begin_time;

		one->details->begin_time = NOW + 1;
		ck_assert(!_woken_on_a_quiet_cluster());
		one->details->begin_time = begin;
		one->priority = 0;
		ck_assert(!_woken_on_a_quiet_cluster());
		one->priority = 1;
		one->job_state = JOB_PENDING | JOB_COMPLETING;
		ck_assert(!_woken_on_a_quiet_cluster());
		one->job_state = JOB_RUNNING;
		ck_assert(!_woken_on_a_quiet_cluster());
		one->job_state = JOB_PENDING;
		ck_assert(_woken_on_a_quiet_cluster());
	}
	job_ptr->restart_cnt = 0; /* its submission was a change */
	ck_assert(!_woken_on_a_quiet_cluster());
	job_ptr->restart_cnt = 1;
	job_ptr->het_job_list = NULL; /* not sound */
	ck_assert(!_woken_on_a_quiet_cluster());
	job_ptr->het_job_id = 0; /* Slurm's main scheduler starts it */
	ck_assert(!_woken_on_a_quiet_cluster());
}
END_TEST

START_TEST(no_other_job_is_touched)
{
	job_array_struct_t tasks = {.task_id_bitmap = stub_bits(
					    (const int[]){3, -1})};

	job_ptr->details->requeue = 0;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	ck_assert_int_eq(_done(MLQ_REQUEUE_WARN), 0);
	job_ptr->details->requeue = 1;
	job_ptr->batch_flag = 0;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	job_ptr->batch_flag = 1;
	job_ptr->het_job_id = 1; /* without a list of its components */
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	job_ptr->het_job_id = 0;
	job_ptr->array_recs = &tasks; /* all that have not run yet */
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	job_ptr->array_recs = NULL;
	job_ptr->array_task_id = 3; /* a task that runs has its own record */
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 100);
	job_ptr->array_task_id = NO_VAL;
	job_ptr->restart_cnt = 1; /* another run */
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	job_ptr->restart_cnt = 0;
	job_ptr->details->submit_time++;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
	job_ptr->details->submit_time--;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 100);
	stub_stop_at = 1;
	stub_locks = 0;
	ck_assert_int_eq(_done(MLQ_REQUEUE_NOW), 0);
}
END_TEST

extern TCase *requeue_cases(void)
{
	TCase *tests = tcase_create("requeue");

	tcase_add_checked_fixture(tests, _setup, sched_teardown);
	tcase_add_test(tests, requeued_as_its_user_would_and_never_held);
	tcase_add_test(tests, told_by_its_own_signal_else_by_sigterm);
	tcase_add_test(tests, one_that_ended_by_itself_is_requeued_and_no_other);
	tcase_add_test(tests, no_other_job_is_touched);
	tcase_add_test(tests, backfill_is_woken_once);
	tcase_add_test(tests,
		       backfill_is_woken_for_none_that_it_would_not_start);
	tcase_add_test(tests, a_heterogeneous_job_goes_as_a_whole);
	tcase_add_test(tests, no_part_of_a_heterogeneous_job_is_requeued);
	return tests;
}
