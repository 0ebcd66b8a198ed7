/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler shim writes into slurmctld's records. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/apply.h"
#include "slurm-plugin/sched/snapshot.h"
#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

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

START_TEST(site_factor_is_set)
{
	job_record_t *job_ptr = stub_add(1, "");
	mlq_decision_t decision;

	sched_take(1);
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
	sched_take(9);
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
	sched_take(1000);
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
	sched_take(1);
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
	sched_take(1);
	decision = _comment(0, "new");
	_apply(&decision, 1);
	ck_assert_str_eq(job_ptr->admin_comment, "new");
	ck_assert_int_eq(stub_end.count, 0);
	ck_assert_int_eq(stub_saves, 0);
	sched_take(1);
	decision = _comment(0, "to be kept");
	decision.save = true;
	_apply(&decision, 1);
	ck_assert_int_eq(stub_saves, 1);
	/* the site wrote meanwhile: its text must not be lost */
	sched_take(1);
	free(job_ptr->admin_comment);
	job_ptr->admin_comment = strdup("site");
	decision = _comment(0, "newer");
	decision.save = true;
	_apply(&decision, 1);
	ck_assert_str_eq(job_ptr->admin_comment, "site");
	ck_assert_int_eq(stub_saves, 1);
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

		sched_teardown();
		sched_setup();
		job_ptr = _ended(1, cases[i].state | JOB_COMPLETING,
				 cases[i].exit_code);
		sched_take(1);
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

	sched_take(1);
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

		sched_teardown();
		sched_setup();
		_ended(1, JOB_COMPLETE | flags[i], 0);
		sched_take(1);
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
	sched_take(2);
	mlq_apply_nothing(&snapshot, &stats);
	ck_assert_uint_eq(ranked->site_factor, NICE_OFFSET);
	ck_assert_uint_eq(held->site_factor, NICE_OFFSET + 9000);
	ck_assert_uint_eq(stats.applied, 1);
}
END_TEST

extern TCase *apply_cases(void)
{
	TCase *tests = tcase_create("apply");

	tcase_add_checked_fixture(tests, sched_setup, sched_teardown);
	tcase_add_test(tests, site_factor_is_set);
	tcase_add_test(tests, site_factor_is_not_set);
	tcase_add_test(tests, pieces_are_small);
	tcase_add_test(tests, no_work_at_shutdown);
	tcase_add_test(tests, comment_of_a_running_job);
	tcase_add_test(tests, end_is_sent_again);
	tcase_add_test(tests, end_waits_for_the_database);
	tcase_add_test(tests, requeued_end_is_not_sent_again);
	tcase_add_test(tests, everything_is_taken_back);
	return tests;
}
