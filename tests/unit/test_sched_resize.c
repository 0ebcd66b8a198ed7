/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pending jobs may be given another size, and how it is given. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/resize.h"
#include "slurm-plugin/sched/size_request.h"
#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

static job_record_t *job_ptr;
static mlq_sizing_t sizing;
static mlq_cycle_stats_t stats;

/* the engine, as far as resize.c knows it */
static size_t sizing_count;
static int told;
static char told_error[128];

extern size_t mlq_engine_sizings(mlq_engine_t *engine,
				 const mlq_sizing_t **sizings)
{
	(void) engine;
	*sizings = &sizing;
	return sizing_count;
}

extern void mlq_engine_size_done(mlq_engine_t *engine, double now,
				 uint32_t job_id, int64_t submit_time,
				 const char *error)
{
	(void) engine;
	(void) now;
	ck_assert_uint_eq(job_id, sizing.job_id);
	ck_assert_int_eq(submit_time, sizing.submit_time);
	told++;
	snprintf(told_error, sizeof(told_error), "%s", error ? error : "");
}

static void _setup(void)
{
	struct job_details *details;

	sched_setup();
	memset(&stats, 0, sizeof(stats));
	told = 0;
	sizing_count = 1;
	job_ptr = stub_add(1, "min=2,max=8");
	job_ptr->batch_flag = 1;
	job_ptr->array_task_id = NO_VAL;
	job_ptr->user_id = 1000;
	details = job_ptr->details;
	details->core_spec = NO_VAL16;
	details->num_tasks = 8;
	details->min_cpus = 8;
	details->ntasks_per_node = 0;
	details->pn_min_memory = MEM_PER_CPU | 100;
	sizing = (mlq_sizing_t){
		.job_id = 1,
		.submit_time = details->submit_time,
		.tasks = 6,
		.cpus = 6,
		.reason = "a test",
	};
	mlq_size_request(job_ptr, &sizing.before);
	ck_assert_ptr_null(sizing.before.refusal);
}

static int _updates(void)
{
	stub_updates = 0;
	mlq_apply_sizes(NULL, &stats);
	return stub_updates;
}

START_TEST(limits_on_sizes_are_told_from_others)
{
	const struct {
		enum job_state_reason reason;
		const char *limit;
	} cases[] = {
		{WAIT_NO_REASON, NULL},
		{WAIT_RESOURCES, NULL},
		{WAIT_PART_DOWN, NULL},
		{WAIT_NODE_NOT_AVAIL, NULL},
		{WAIT_QOS_MAX_JOB_PER_USER, NULL},
		{WAIT_QOS_MAX_WALL_PER_JOB, NULL},
		{WAIT_ASSOC_JOB_LIMIT, NULL},
		{WAIT_ASSOC_GRP_LIC, NULL},
		{WAIT_PART_NODE_LIMIT, "PartitionNodeLimit"},
		{WAIT_PN_MEM_LIMIT, "MaxMemPerLimit"},
		{WAIT_QOS_MAX_CPU_PER_JOB, "QOSMaxCpuPerJobLimit"},
		{WAIT_QOS_MIN_CPU, "QOSMinCpuNotSatisfied"},
		{WAIT_ASSOC_GRP_GRES, "AssocGrpGRES"},
		{WAIT_ASSOC_GRP_CPU_MIN, "AssocGrpCPUMinutesLimit"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		mlq_size_request_t size;

		job_ptr->state_reason = cases[i].reason;
		job_ptr->job_state = JOB_PENDING;
		mlq_size_request(job_ptr, &size);
		ck_assert_pstr_eq(size.limit, cases[i].limit);
		job_ptr->job_state = JOB_RUNNING;
		mlq_size_request(job_ptr, &size);
		ck_assert_ptr_null(size.limit);
	}
}
END_TEST

START_TEST(a_size_is_asked_for_as_its_user_would)
{
	struct job_details *details = job_ptr->details;

	ck_assert_int_eq(_updates(), 1);
	ck_assert_uint_eq(stub_update.job_id, 1);
	ck_assert_uint_eq(stub_update.num_tasks, 6);
	ck_assert_uint_eq(stub_update.min_cpus, 6);
	ck_assert_uint_eq(stub_update.min_nodes, NO_VAL);
	ck_assert_uint_eq(stub_update.pn_min_memory, MEM_PER_CPU | 100);
	ck_assert_uint_eq(stub_update_uid, 1000);
	ck_assert_uint_eq(details->env_cnt, 2);
	ck_assert_str_eq(details->env_sup[0], "SLURM_NTASKS=6");
	ck_assert_str_eq(details->env_sup[1], "SLURM_NPROCS=6");
	ck_assert_int_eq(told, 1);
	ck_assert_str_eq(told_error, "");
	ck_assert_uint_eq(stats.applied, 1);
	/* once more: the variables are replaced, not added */
	details->num_tasks = details->min_cpus = 6;
	mlq_size_request(job_ptr, &sizing.before);
	sizing.tasks = sizing.cpus = 4;
	sizing.nodes = 2;
	ck_assert_int_eq(_updates(), 1);
	ck_assert_uint_eq(stub_update.min_nodes, 2);
	ck_assert_uint_eq(stub_update.max_nodes, 2);
	ck_assert_uint_eq(details->env_cnt, 2);
	ck_assert_str_eq(details->env_sup[0], "SLURM_NTASKS=4");
}
END_TEST

START_TEST(gpus_are_asked_for_with_the_cores_of_its_task)
{
	struct job_details *details = job_ptr->details;
	gres_job_state_t gres_js = {.gres_per_job = 2};
	gres_state_t state = {.gres_name = "gpu",
			      .state_type = GRES_STATE_TYPE_JOB,
			      .gres_data = &gres_js};
	stub_list_t list = {.count = 1, .entries = {&state}};

	job_ptr->gres_list_req = stub_list(&list);
	job_ptr->tres_per_job = "gres:gpu:a:2";
	details->num_tasks = 1;
	details->pn_min_cpus = details->cpus_per_task = 8;
	sizing.before.tasks = sizing.tasks = 1;
	sizing.before.cpus_per_node = sizing.before.cpus_per_task = 8;
	sizing.before.gpus_of = MLQ_GPUS_OF_JOB;
	sizing.before.gpus = 2;
	sizing.cpus = sizing.cpus_per_task = 12;
	sizing.gpus = 3;
	ck_assert_int_eq(_updates(), 1);
	ck_assert_str_eq(stub_update.tres_per_job, "gres:gpu:a:3");
	ck_assert_ptr_null(stub_update.tres_per_node);
	ck_assert_uint_eq(stub_update.cpus_per_task, 12);
	ck_assert_uint_eq(stub_update.pn_min_cpus, 12);
	ck_assert_uint_eq(stub_update.min_cpus, 12);
	ck_assert_uint_eq(details->env_cnt, 1); /* as many tasks as before */
	ck_assert_str_eq(details->env_sup[0], "SLURM_GPUS=a:3");
	gres_js.gres_per_job = 1; /* its user changed it meanwhile */
	job_ptr->tres_per_job = "gres:gpu:a:1";
	ck_assert_int_eq(_updates(), 0);
	stub_update_rc = ESLURM_INVALID_GRES;
	gres_js.gres_per_job = 2;
	job_ptr->tres_per_job = "gres:gpu:a:2";
	sizing.gpus = 4;
	ck_assert_int_eq(_updates(), 1);
	ck_assert_str_eq(details->env_sup[0], "SLURM_GPUS=a:3");
}
END_TEST

START_TEST(another_job_than_the_one_decided_about_is_left_alone)
{
	struct job_details *details = job_ptr->details;

	details->submit_time++;
	ck_assert_int_eq(_updates(), 0);
	details->submit_time--;
	job_ptr->restart_cnt = 1;
	ck_assert_int_eq(_updates(), 0);
	job_ptr->restart_cnt = 0;
	job_ptr->job_state = JOB_RUNNING;
	ck_assert_int_eq(_updates(), 0);
	job_ptr->job_state = JOB_PENDING | JOB_COMPLETING;
	ck_assert_int_eq(_updates(), 0);
	job_ptr->job_state = JOB_PENDING;
	job_ptr->priority = 0;
	ck_assert_int_eq(_updates(), 0);
	job_ptr->priority = 10;
	details->num_tasks = 7; /* its user changed it meanwhile */
	ck_assert_int_eq(_updates(), 0);
	details->num_tasks = 8;
	details->req_nodes = "n1";
	ck_assert_int_eq(_updates(), 0);
	details->req_nodes = NULL;
	stub_stop_at = stub_locks + 1;
	ck_assert_int_eq(_updates(), 0);
	stub_stop_at = 0;
	ck_assert_int_eq(told, 0);
	ck_assert_int_eq(_updates(), 1);
}
END_TEST

START_TEST(what_slurm_refuses_is_told)
{
	stub_update_rc = ESLURM_JOB_SETTING_DB_INX;
	ck_assert_int_eq(_updates(), 1);
	ck_assert_int_eq(told, 0); /* it is tried again in the next cycle */
	stub_update_rc = ESLURM_ACCOUNTING_POLICY;
	ck_assert_int_eq(_updates(), 1);
	ck_assert_int_eq(told, 1);
	ck_assert_str_eq(told_error, "refused");
	ck_assert_uint_eq(job_ptr->details->env_cnt, 0);
	ck_assert_uint_eq(stats.applied, 0);
}
END_TEST

static const char *_refusal(void)
{
	mlq_size_request_t request;

	mlq_size_request(job_ptr, &request);
	return request.refusal ? request.refusal : "none";
}

/* Each of these alone keeps a job as it is. */
START_TEST(requests_that_are_left_as_they_are)
{
	struct job_details *details = job_ptr->details;
	job_array_struct_t tasks = {.task_id_bitmap = stub_bits(
					    (const int[]){3, -1})};

#define REFUSED(set, unset, text)                          \
	do {                                               \
		set;                                       \
		ck_assert_ptr_nonnull(strstr(_refusal(), text)); \
		unset;                                     \
		ck_assert_str_eq(_refusal(), "none");      \
	} while (0)
	REFUSED(job_ptr->batch_flag = 0, job_ptr->batch_flag = 1, "batch");
	REFUSED(job_ptr->array_task_id = 0, job_ptr->array_task_id = NO_VAL,
		"array");
	REFUSED(job_ptr->array_recs = &tasks, job_ptr->array_recs = NULL,
		"array");
	REFUSED(job_ptr->resv_name = "r", job_ptr->resv_name = NULL,
		"reservation");
	REFUSED(details->req_nodes = "n1", details->req_nodes = NULL,
		"--nodelist");
	REFUSED(details->features = "[a*2&b*1]", details->features = "a&b",
		"--constraint");
	REFUSED(details->features = "a|b", details->features = "a&b",
		"--constraint");
	REFUSED(details->contiguous = 1, details->contiguous = 0, "contiguous");
	REFUSED(details->overcommit = 1, details->overcommit = 0, "overcommit");
	REFUSED(details->core_spec = 2, details->core_spec = NO_VAL16,
		"specialises");
	REFUSED(details->expanding_jobid = 9, details->expanding_jobid = 0,
		"expands");
	REFUSED(details->max_cpus = 9, details->max_cpus = NO_VAL, "largest");
}
END_TEST

/* A task that has run has a record of its own, and only that one is sized; the
 * record of the tasks that wait stands for all of them, whatever it is. */
START_TEST(a_task_of_an_array_that_has_run)
{
	job_array_struct_t tasks = {.task_id_bitmap = NULL};

	job_ptr->array_job_id = 1;
	job_ptr->array_task_id = 2;
	ck_assert_str_ne(_refusal(), "none");
	job_ptr->job_state = JOB_RUNNING;
	ck_assert_str_eq(_refusal(), "none");
	job_ptr->job_state = JOB_PENDING;
	job_ptr->restart_cnt = sizing.restarts = 1;
	ck_assert_str_eq(_refusal(), "none");
	ck_assert_int_eq(_updates(), 1);
	ck_assert_uint_eq(stub_update.job_id, 1);
	job_ptr->array_recs = &tasks; /* it was the last one that waited */
	ck_assert_str_eq(_refusal(), "none");
	tasks.task_id_bitmap = stub_bits((const int[]){3, -1});
	ck_assert_int_eq(_updates(), 0);
	job_ptr->array_task_id = NO_VAL;
	ck_assert_int_eq(_updates(), 0);
	ck_assert_str_ne(_refusal(), "none");
}
END_TEST

START_TEST(a_component_alone_is_sized_and_the_leader_has_the_variables)
{
	job_record_t *leader = stub_add(7, "");

	ck_assert_ptr_eq(job_ptr->details + 1, leader->details);
	leader->batch_flag = 1;
	stub_het(leader, job_ptr);
	ck_assert_int_eq(_updates(), 1);
	ck_assert_uint_eq(stub_update.job_id, 1); /* not the leader's */
	ck_assert_uint_eq(job_ptr->details->env_cnt, 0);
	ck_assert_uint_eq(leader->details->env_cnt, 2);
	ck_assert_str_eq(leader->details->env_sup[0],
			 "SLURM_NTASKS_HET_GROUP_1=6");
	ck_assert_str_eq(leader->details->env_sup[1],
			 "SLURM_NPROCS_HET_GROUP_1=6");
	stub_het(job_ptr, leader); /* and where it is the leader itself */
	leader->het_job_list = NULL;
	ck_assert_int_eq(_updates(), 1);
	ck_assert_uint_eq(job_ptr->details->env_cnt, 2);
	ck_assert_str_eq(job_ptr->details->env_sup[0],
			 "SLURM_NTASKS_HET_GROUP_0=6");
}
END_TEST

START_TEST(the_request_is_read)
{
	struct job_details *details = job_ptr->details;
	mlq_size_request_t request;

	details->cpus_per_task = 2;
	details->min_cpus = 16;
	details->min_nodes = 2;
	details->max_nodes = 4;
	details->whole_node = WHOLE_NODE_REQUIRED;
	details->ntasks_per_node = 4;
	details->pn_min_memory = 100;
	mlq_size_request(job_ptr, &request);
	ck_assert_uint_eq(request.cpus, 16);
	ck_assert_uint_eq(request.tasks, 8);
	ck_assert_uint_eq(request.cpus_per_task, 2);
	ck_assert_uint_eq(request.tasks_per_node, 4);
	ck_assert_uint_eq(request.min_nodes, 2);
	ck_assert_uint_eq(request.max_nodes, 4);
	ck_assert(request.whole_nodes && request.memory_per_node);
	details->cpus_per_task = NO_VAL16;
	details->max_nodes = NO_VAL;
	details->whole_node = 0;
	details->ntasks_per_node = NO_VAL16;
	details->pn_min_memory = MEM_PER_CPU | 5;
	mlq_size_request(job_ptr, &request);
	ck_assert_uint_eq(request.cpus_per_task, 1);
	ck_assert_uint_eq(request.tasks_per_node, 0);
	ck_assert_uint_eq(request.max_nodes, 0);
	ck_assert(!request.whole_nodes && !request.memory_per_node);
}
END_TEST

extern TCase *resize_cases(void)
{
	TCase *tcase = tcase_create("resize");

	tcase_add_checked_fixture(tcase, _setup, sched_teardown);
	tcase_add_test(tcase, limits_on_sizes_are_told_from_others);
	tcase_add_test(tcase, a_size_is_asked_for_as_its_user_would);
	tcase_add_test(tcase, gpus_are_asked_for_with_the_cores_of_its_task);
	tcase_add_test(tcase,
		       another_job_than_the_one_decided_about_is_left_alone);
	tcase_add_test(tcase, what_slurm_refuses_is_told);
	tcase_add_test(tcase, requests_that_are_left_as_they_are);
	tcase_add_test(tcase, a_task_of_an_array_that_has_run);
	tcase_add_test(tcase, a_component_alone_is_sized_and_the_leader_has_the_variables);
	tcase_add_test(tcase, the_request_is_read);
	return tcase;
}
