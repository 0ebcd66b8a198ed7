/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Priorities moved by another site factor, and an end in the middle of it. */
#include <check.h>

#include "slurm-plugin/sched/apply.h"
#include "slurm-plugin/site_factor/priority_shift.h"
#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

START_TEST(priority_moves_by_the_difference)
{
	job_record_t *job_ptr = stub_add(1, "");
	priority_factors_object_t factors = { 0 };

	job_ptr->prio_factors = &factors;
	mlq_shift_priority(job_ptr, NICE_OFFSET + 700);
	ck_assert_uint_eq(job_ptr->priority, 1700);
	ck_assert_uint_eq(job_ptr->site_factor, NICE_OFFSET + 700);
	ck_assert_uint_eq(factors.priority_site, NICE_OFFSET + 700);
	mlq_shift_priority(job_ptr, NICE_OFFSET + 200);
	ck_assert_uint_eq(job_ptr->priority, 1200);
	mlq_shift_priority(job_ptr, NICE_OFFSET);
	ck_assert_uint_eq(job_ptr->priority, 1000);
	ck_assert_uint_eq(factors.priority_site, NICE_OFFSET);
}
END_TEST

START_TEST(every_partition_moves)
{
	job_record_t *job_ptr = stub_add(1, "");
	uint32_t each[4] = { 1000, 50, 0, 77 };

	job_ptr->part_ptr_list = stub_partitions(3);
	job_ptr->priority_array = each;
	mlq_shift_priority(job_ptr, NICE_OFFSET + 10);
	ck_assert_uint_eq(each[0], 1010);
	ck_assert_uint_eq(each[1], 60);
	ck_assert_uint_eq(each[2], 0); /* not computed yet */
	ck_assert_uint_eq(each[3], 77); /* none of the list's */
}
END_TEST

START_TEST(priority_stays_within_its_bounds)
{
	job_record_t *job_ptr = stub_add(1, "");

	job_ptr->site_factor = NICE_OFFSET + 5000;
	mlq_shift_priority(job_ptr, NICE_OFFSET);
	ck_assert_uint_eq(job_ptr->priority, 1);
	job_ptr->priority = UINT32_MAX - 5;
	mlq_shift_priority(job_ptr, NICE_OFFSET + 5000);
	ck_assert_uint_eq(job_ptr->priority, UINT32_MAX);
	job_ptr->priority = 0;
	mlq_shift_priority(job_ptr, NICE_OFFSET + 9000);
	ck_assert_uint_eq(job_ptr->priority, 0); /* held stays held */
}
END_TEST

/* Whichever lock the end comes behind, nothing is read or written after it. */
START_TEST(nothing_is_touched_once_it_is_to_end)
{
	mlq_cycle_stats_t stats = { 0 };
	mlq_decision_t decisions[200];
	int locks;

	for (int i = 1; i <= 200; i++)
		stub_add(i, "");
	sched_take(200);
	locks = stub_locks;
	ck_assert_int_ge(locks, 3); /* a walk and several pieces */
	for (int i = 0; i < 200; i++)
		decisions[i] = (mlq_decision_t){
			.index = i,
			.job_id = snapshot.jobs[i].job_id,
			.submit_time = snapshot.jobs[i].submit_time,
			.set_site_factor = true,
			.site_factor = 9,
		};
	for (int at = 1; at <= locks; at++) {
		stub_locks = 0;
		stub_stop_at = at;
		ck_assert_int_eq(mlq_snapshot_take(&snapshot, NOW, 60), -1);
		ck_assert_uint_eq(snapshot.count, 0);
		ck_assert(!snapshot.layout_bad);
		ck_assert_int_eq(stub_locks, at);
	}
	stub_stop_at = 0;
	sched_take(200);
	stub_locks = 0;
	stub_stop_at = 2;
	mlq_apply(&snapshot, decisions, 200, &stats);
	ck_assert_int_eq(stub_locks, 2);
	ck_assert_int_ge(stub_prios, 1); /* the first piece's */
	ck_assert_int_le(stub_prios, 64);
	ck_assert_uint_eq(stats.applied, stub_prios);
}
END_TEST

extern TCase *shift_cases(void)
{
	TCase *tcase = tcase_create("shift");

	tcase_add_checked_fixture(tcase, sched_setup, sched_teardown);
	tcase_add_test(tcase, priority_moves_by_the_difference);
	tcase_add_test(tcase, every_partition_moves);
	tcase_add_test(tcase, priority_stays_within_its_bounds);
	tcase_add_test(tcase, nothing_is_touched_once_it_is_to_end);
	return tcase;
}
