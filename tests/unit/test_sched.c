/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduler shim with stubs for slurmctld. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

mlq_snapshot_t snapshot;

extern void sched_setup(void)
{
	stub_reset();
	memset(&snapshot, 0, sizeof(snapshot));
}

extern void sched_teardown(void)
{
	mlq_snapshot_free(&snapshot);
}

uint64_t cluster_hold_us;

extern void sched_cluster_setup(void)
{
	sched_setup();
	snapshot.cluster = mlq_cluster_create();
	cluster_hold_us = 0;
}

extern void sched_cluster_teardown(void)
{
	mlq_cluster_free(snapshot.cluster);
	sched_teardown();
}

extern const mlq_cluster_snapshot_t *sched_cluster_take(void)
{
	const mlq_cluster_snapshot_t *cluster = NULL;

	for (int i = 0; i < 2 && !cluster; i++) {
		ck_assert_int_eq(mlq_snapshot_take(&snapshot, NOW, 60), 0);
		cluster = mlq_cluster_take(snapshot.cluster,
					   &cluster_hold_us);
	}
	ck_assert_ptr_nonnull(cluster);
	return cluster;
}

extern void sched_take(size_t expected)
{
	ck_assert_int_eq(mlq_snapshot_take(&snapshot, NOW, 60), 0);
	ck_assert_uint_eq(snapshot.count, expected);
}

int main(void)
{
	Suite *suite = suite_create("sched");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, snapshot_cases());
	suite_add_tcase(suite, apply_cases());
	suite_add_tcase(suite, shift_cases());
	suite_add_tcase(suite, resize_cases());
	suite_add_tcase(suite, requeue_cases());
	suite_add_tcase(suite, node_cases());
	suite_add_tcase(suite, cluster_cases());
	suite_add_tcase(suite, gpu_cases());
	suite_add_tcase(suite, gpu_request_cases());
	suite_add_tcase(suite, ending_cases());
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
