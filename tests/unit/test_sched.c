/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler shim reads of slurmctld's records, and what it writes. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/apply.h"
#include "slurm-plugin/sched/snapshot.h"
#include "tests/unit/slurmctld_stubs.h"

#define NOW 1790001000

static mlq_snapshot_t snapshot;

static void _setup(void)
{
	stub_reset();
	memset(&snapshot, 0, sizeof(snapshot));
}

static void _teardown(void)
{
	mlq_snapshot_free(&snapshot);
}

static void _take(size_t expected)
{
	ck_assert_int_eq(mlq_snapshot_take(&snapshot, NOW, 60), 0);
	ck_assert_uint_eq(snapshot.count, expected);
}

static mlq_cycle_stats_t _apply(mlq_decision_t *decisions, size_t count)
{
	mlq_cycle_stats_t stats = { 0 };

	mlq_apply(&snapshot, decisions, count, &stats);
	return stats;
}

/* A decision about the n-th job of the snapshot. */
static mlq_decision_t _about(size_t n)
{
	mlq_decision_t decision = {
		.index = n,
		.job_id = snapshot.jobs[n].job_id,
		.restarts = snapshot.jobs[n].restarts,
		.submit_time = snapshot.jobs[n].submit_time,
	};

	return decision;
}

static mlq_decision_t _site(size_t n, uint32_t site_factor)
{
	mlq_decision_t decision = _about(n);

	decision.set_site_factor = true;
	decision.site_factor = site_factor;
	return decision;
}

static mlq_decision_t _comment(size_t n, const char *text)
{
	mlq_decision_t decision = _about(n);

	decision.admin_comment = text;
	return decision;
}

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
	_take(2);
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
	_take(1);
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
	_take(3);
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
	_take(5);
	for (int i = 0; i < 5; i++) {
		ck_assert_msg(!snapshot.jobs[i].rankable, "job %u", i + 1);
		ck_assert_ptr_nonnull(snapshot.jobs[i].not_ranked);
	}
	ck_assert_str_eq(snapshot.jobs[0].not_ranked, "held");
}
END_TEST

START_TEST(many_jobs_in_small_pieces)
{
	char name[1500];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (uint32_t i = 1; i <= 2000; i++)
		stub_add(i, "family=x")->name = name;
	_take(2000);
	ck_assert_int_ge(stub_locks, 2000 / 64);
	for (uint32_t i = 0; i < 2000; i++) {
		ck_assert_uint_eq(snapshot.jobs[i].job_id, i + 1);
		ck_assert_uint_eq(strlen(snapshot.jobs[i].name), 1024);
		ck_assert_str_eq(snapshot.jobs[i].request, "family=x");
	}
	stub_reset();
	stub_add(9, "");
	_take(1);	/* memory is used again */
}
END_TEST

/* A job that is purged between two pieces of the walk moves all others: none
 * may be lost or be there twice. */
START_TEST(purge_during_the_walk)
{
	/* two walks of four pieces each, for the first finds too little room;
	 * then the first job is copied */
	for (int lock = 1; lock <= 9; lock++) {
		_teardown();
		_setup();
		for (uint32_t i = 1; i <= 1000; i++)
			stub_add(i, "");
		stub_purge_at = lock;
		_take(999);
		for (uint32_t i = 0; i < 999; i++)
			ck_assert_uint_eq(snapshot.jobs[i].job_id, i + 2);
	}
}
END_TEST

START_TEST(bad_layouts)
{
	for (int i = 0; i < 6; i++) {
		job_record_t *job_ptr;

		_setup();
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
		_teardown();
	}
}
END_TEST

START_TEST(site_factor_is_set)
{
	job_record_t *job_ptr = stub_add(1, "");
	mlq_decision_t decision;

	_take(1);
	decision = _site(0, 500);
	ck_assert_uint_eq(_apply(&decision, 1).applied, 1);
	ck_assert_uint_eq(job_ptr->site_factor, NICE_OFFSET + 500);
	ck_assert_uint_eq(job_ptr->priority, 1500);
	ck_assert_int_ne(last_job_update, 0);
}
END_TEST

/* What changed between the snapshot and now is looked at anew. */
START_TEST(site_factor_is_not_set)
{
	job_record_t *jobs[9];
	mlq_decision_t decisions[9];

	for (int i = 0; i < 9; i++)
		jobs[i] = stub_add(i + 1, "");
	_take(9);
	for (int i = 0; i < 9; i++)
		decisions[i] = _site(i, 500);
	jobs[0]->job_state = JOB_RUNNING;
	jobs[1]->priority = 0;
	jobs[2]->direct_set_prio = 1;
	jobs[3]->details->submit_time++;
	jobs[4]->restart_cnt++;
	jobs[5]->job_state |= JOB_COMPLETING;
	jobs[6]->het_job_id = 7;
	jobs[7]->job_id = 77;
	decisions[8].index = 9;
	ck_assert_uint_eq(_apply(decisions, 9).applied, 0);
	ck_assert_int_eq(stub_prios, 0);
	ck_assert_int_eq(last_job_update, 0);
	for (int i = 0; i < 9; i++)
		ck_assert_uint_eq(jobs[i]->site_factor, NICE_OFFSET);
}
END_TEST

START_TEST(pieces_are_small)
{
	mlq_decision_t *decisions = calloc(1000, sizeof(*decisions));
	mlq_cycle_stats_t stats;

	for (uint32_t i = 1; i <= 1000; i++)
		stub_add(i, "");
	_take(1000);
	for (size_t i = 0; i < 1000; i++)
		decisions[i] = _site(i, i);
	stats = _apply(decisions, 1000);
	ck_assert_uint_eq(stats.applied, 1000);
	ck_assert_uint_ge(stats.write_holds, 1000 / 64);
	ck_assert_uint_ge(stats.write_hold_sum_us, stats.write_hold_max_us);
	free(decisions);
}
END_TEST

START_TEST(no_work_at_shutdown)
{
	mlq_decision_t decision;

	stub_add(1, "");
	_take(1);
	slurmctld_config.shutdown_time = NOW;
	decision = _site(0, 500);
	ck_assert_uint_eq(_apply(&decision, 1).write_holds, 0);
}
END_TEST

START_TEST(comment_of_a_running_job)
{
	job_record_t *job_ptr = stub_add(1, "");
	mlq_decision_t decision;

	job_ptr->job_state = JOB_RUNNING;
	job_ptr->admin_comment = strdup("old");
	_take(1);
	decision = _comment(0, "new");
	_apply(&decision, 1);
	ck_assert_str_eq(job_ptr->admin_comment, "new");
	ck_assert_int_eq(stub_end.count, 0);
	/* the site wrote meanwhile: its text must not be lost */
	_take(1);
	free(job_ptr->admin_comment);
	job_ptr->admin_comment = strdup("site");
	decision = _comment(0, "newer");
	_apply(&decision, 1);
	ck_assert_str_eq(job_ptr->admin_comment, "site");
	free(job_ptr->admin_comment);
}
END_TEST

static job_record_t *_ended(uint32_t job_id, uint32_t state, uint32_t exit_code)
{
	job_record_t *job_ptr = stub_add(job_id, "");

	job_ptr->job_state = state;
	job_ptr->exit_code = exit_code;
	job_ptr->derived_ec = 9;
	job_ptr->end_time = NOW - 5;
	job_ptr->comment = "the user's";
	job_ptr->tres_alloc_str = "1=4";
	return job_ptr;
}

/* The second message changes nothing but the comment, and the record of
 * slurmctld is as before. */
START_TEST(end_is_sent_again)
{
	const struct {
		uint32_t state, exit_code, sent;
	} cases[] = {
		{ JOB_COMPLETE, 0, 0 },	   { JOB_FAILED, 7 << 8, 7 << 8 },
		{ JOB_FAILED, 11, 11 },	   { JOB_OOM, 125, 125 },
		{ JOB_CANCELLED, 15, 0 },  { JOB_TIMEOUT, 15, 0 },
		{ JOB_NODE_FAIL, 1, 1 },   { JOB_PREEMPTED, 9, 0 },
		{ JOB_DEADLINE, 3 << 8, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		job_record_t *job_ptr;
		mlq_decision_t decision;

		_teardown();
		_setup();
		job_ptr = _ended(1, cases[i].state | JOB_COMPLETING,
				 cases[i].exit_code);
		_take(1);
		decision = _comment(0, "final");
		_apply(&decision, 1);
		ck_assert_int_eq(stub_end.count, 1);
		ck_assert_str_eq(stub_end.admin_comment, "final");
		ck_assert_uint_eq(stub_end.exit_code, cases[i].sent);
		ck_assert_uint_eq(stub_end.derived_ec, NO_VAL);
		ck_assert_int_eq(stub_end.end_time, NOW - 5);
		ck_assert(!stub_end.had_comment && !stub_end.had_tres);
		ck_assert_uint_eq(job_ptr->exit_code, cases[i].exit_code);
		ck_assert_uint_eq(job_ptr->derived_ec, 9);
		ck_assert_str_eq(job_ptr->comment, "the user's");
		ck_assert_str_eq(job_ptr->tres_alloc_str, "1=4");
		free(job_ptr->admin_comment);
	}
}
END_TEST

START_TEST(end_waits_for_the_database)
{
	const uint64_t unknown[] = { 0, NO_VAL64 };
	job_record_t *job_ptr = _ended(1, JOB_COMPLETE, 0);
	mlq_decision_t decision;

	_take(1);
	decision = _comment(0, "final");
	for (int i = 0; i < 2; i++) {
		job_ptr->db_index = unknown[i];
		_apply(&decision, 1);
		ck_assert_int_eq(stub_end.count, 0);
		ck_assert_ptr_null(job_ptr->admin_comment);
	}
	stub_with_dbd = false;	/* there is none: scontrol still shows it */
	_apply(&decision, 1);
	ck_assert_int_eq(stub_end.count, 0);
	ck_assert_str_eq(job_ptr->admin_comment, "final");
	free(job_ptr->admin_comment);
}
END_TEST

START_TEST(requeued_end_is_not_sent_again)
{
	const uint32_t flags[] = { JOB_REQUEUE, JOB_RESIZING, JOB_REVOKED };

	for (int i = 0; i < 3; i++) {
		mlq_decision_t decision;

		_teardown();
		_setup();
		_ended(1, JOB_COMPLETE | flags[i], 0);
		_take(1);
		decision = _comment(0, "final");
		_apply(&decision, 1);
		ck_assert_int_eq(stub_end.count, 0);
	}
}
END_TEST

START_TEST(everything_is_taken_back)
{
	job_record_t *ranked = stub_add(1, ""), *held = stub_add(2, "");
	mlq_cycle_stats_t stats = { 0 };

	ranked->site_factor = NICE_OFFSET + 9000;
	held->site_factor = NICE_OFFSET + 9000;
	held->priority = 0;
	_take(2);
	mlq_apply_nothing(&snapshot, &stats);
	ck_assert_uint_eq(ranked->site_factor, NICE_OFFSET);
	ck_assert_uint_eq(held->site_factor, NICE_OFFSET + 9000);
	ck_assert_uint_eq(stats.applied, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sched");
	TCase *tests = tcase_create("shim");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, _setup, _teardown);
	tcase_add_test(tests, only_ml_jobs);
	tcase_add_test(tests, fields_of_a_pending_job);
	tcase_add_test(tests, fields_of_running_and_ended_jobs);
	tcase_add_test(tests, left_to_slurm);
	tcase_add_test(tests, many_jobs_in_small_pieces);
	tcase_add_test(tests, purge_during_the_walk);
	tcase_add_test(tests, bad_layouts);
	tcase_add_test(tests, site_factor_is_set);
	tcase_add_test(tests, site_factor_is_not_set);
	tcase_add_test(tests, pieces_are_small);
	tcase_add_test(tests, no_work_at_shutdown);
	tcase_add_test(tests, comment_of_a_running_job);
	tcase_add_test(tests, end_is_sent_again);
	tcase_add_test(tests, end_waits_for_the_database);
	tcase_add_test(tests, requeued_end_is_not_sent_again);
	tcase_add_test(tests, everything_is_taken_back);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
