/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many GPUs a pending job asks for, as Slurm's records say it. */
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/gpu_request.h"
#include "slurm-plugin/sched/size_request.h"
#include "tests/unit/slurmctld_stubs.h"
#include "tests/unit/test_sched.h"

static const slurmctld_lock_t read_jobs = {.job = READ_LOCK};
static job_record_t *job_ptr;
static gres_job_state_t gres_js[2];
static gres_state_t states[2];
static stub_list_t list;

static void _setup(void)
{
	sched_setup();
	memset(gres_js, 0, sizeof(gres_js));
	memset(&list, 0, sizeof(list));
	for (int i = 0; i < 2; i++) {
		states[i] = (gres_state_t){
			.gres_name = "gpu",
			.state_type = GRES_STATE_TYPE_JOB,
			.gres_data = &gres_js[i],
		};
		gres_js[i].ntasks_per_gres = NO_VAL16;
		list.entries[i] = &states[i];
	}
	list.count = 1;
	job_ptr = stub_add(1, "unit=gpu,min=1,max=8");
	job_ptr->batch_flag = 1;
	job_ptr->array_task_id = NO_VAL;
	job_ptr->details->core_spec = NO_VAL16;
	job_ptr->gres_list_req = (List) &list;
}

/* What is read of it; the refusal alone when there is one. */
static mlq_size_request_t _asked(void)
{
	mlq_size_request_t asked;

	job_ptr->gres_list_req = stub_list(&list);
	lock_slurmctld(read_jobs);
	mlq_size_request(job_ptr, &asked);
	unlock_slurmctld(read_jobs);
	stub_lists_reset();
	return asked;
}

static void _check(mlq_gpus_of_t of, uint32_t gpus)
{
	mlq_size_request_t asked = _asked();

	ck_assert_ptr_null(asked.refusal);
	ck_assert_int_eq(asked.gpus_of, of);
	ck_assert_uint_eq(asked.gpus, gpus);
}

static void _refused(const char *text)
{
	mlq_size_request_t asked = _asked();

	ck_assert_ptr_nonnull(asked.refusal);
	ck_assert_msg(strstr(asked.refusal, text), "%s", asked.refusal);
}

START_TEST(each_way_of_saying_it)
{
	gres_js[0].gres_per_job = 4;
	job_ptr->tres_per_job = "gres:gpu:4";
	gres_js[0].cpus_per_gres = 3;
	_check(MLQ_GPUS_OF_JOB, 4);
	ck_assert_uint_eq(_asked().cpus_per_gpu, 3);
	job_ptr->tres_per_job = "gres/gpu:a100=4";
	_check(MLQ_GPUS_OF_JOB, 4);
	job_ptr->tres_per_job = NULL;
	job_ptr->tres_per_node = "gres:gpu:a100"; /* one, not a hundred */
	gres_js[0].gres_per_node = 1;
	_check(MLQ_GPUS_OF_NODE, 1);
	job_ptr->tres_per_task = "cpu:2"; /* nothing of GPUs */
	_check(MLQ_GPUS_OF_NODE, 1);
	job_ptr->tres_per_node = NULL;
	job_ptr->tres_per_task = "gres:gpu:2";
	gres_js[0].gres_per_task = 2;
	_check(MLQ_GPUS_OF_TASK, 2);
	job_ptr->gres_list_req = NULL;
	list.count = 0;
	_check(MLQ_GPUS_NONE, 0);
}
END_TEST

START_TEST(ways_that_are_left_as_they_are)
{
	gres_js[0].gres_per_job = 4;
	job_ptr->tres_per_job = "gres:gpu:4";
	list.count = 2;
	_refused("other generic resources");
	list.count = 1;
	states[0].gres_name = "fpga";
	_refused("other generic resources");
	states[0].gres_name = "gpu";
	gres_js[0].gres_per_socket = 1;
	_refused("by socket");
	gres_js[0].gres_per_socket = 0;
	gres_js[0].ntasks_per_gres = 2;
	_refused("--ntasks-per-gpu");
	gres_js[0].ntasks_per_gres = 0;
	gres_js[0].mem_per_gres = 100;
	_refused("--mem-per-gpu");
	gres_js[0].mem_per_gres = 0;
	job_ptr->tres_per_node = "gres:gpu:2";
	_refused("in several ways");
	job_ptr->tres_per_node = NULL;
	job_ptr->tres_per_job = NULL;
	_refused("in several ways"); /* or in none that is known */
	job_ptr->tres_per_job = "gres:gpu:2";
	_refused("not clear"); /* the record says four */
	job_ptr->tres_per_job = "gres:gpu:a:2,gres:gpu:b:4";
	_refused("not clear");
	job_ptr->tres_per_job = "gres:gpu:4K";
	_refused("not clear");
	job_ptr->tres_per_job = "gres:gpu:4";
	gres_js[0].gres_per_job = 1ULL << 32 | 4;
	_refused("not clear");
	gres_js[0].gres_per_job = 4;
	_check(MLQ_GPUS_OF_JOB, 4);
}
END_TEST

static void _check_text(const char *text, uint32_t gpus, const char *expected)
{
	char *changed = mlq_gpus_text(text, gpus);

	ck_assert_str_eq(changed, expected);
	xfree(changed);
}

static void _check_variable(char *text, const char *expected)
{
	char *value;

	job_ptr->tres_per_job = text;
	value = mlq_gpus_variable(job_ptr, MLQ_GPUS_OF_JOB, 3);
	ck_assert_str_eq(value, expected);
	xfree(value);
	job_ptr->tres_per_job = NULL;
}

START_TEST(another_number_is_said_in_the_same_way)
{
	job_desc_msg_t desc;

	_check_text("gres:gpu:a:4", 12, "gres:gpu:a:12");
	_check_text("gres/gpu=4", 12, "gres/gpu=12");
	_check_text("gres:gpu", 3, "gres:gpu:3");
	_check_text("gres:gpu:a100", 3, "gres:gpu:a100:3");
	_check_variable("gres:gpu:a:4", "a:3");
	_check_variable("gres:gpu", "3");
	_check_variable("gres:gpu:a100", "a100:3");
	_check_variable("gres:", "3");
	slurm_init_job_desc_msg(&desc);
	job_ptr->tres_per_task = xstrdup("gres:gpu:a:2");
	mlq_gpus_ask(job_ptr, MLQ_GPUS_OF_TASK, 2, &desc);
	ck_assert_str_eq(desc.tres_per_task, "gres:gpu:a:2");
	ck_assert_str_eq(desc.tres_per_job, ""); /* reckoned anew */
	job_ptr->tres_per_job = desc.tres_per_job; /* as an update does */
	desc.tres_per_job = NULL;
	mlq_gpus_ask_done(job_ptr, &desc);
	ck_assert_ptr_null(desc.tres_per_task);
	ck_assert_ptr_null(job_ptr->tres_per_job);
	xfree(job_ptr->tres_per_task);
	job_ptr->tres_per_node = xstrdup("gres:gpu:2");
	mlq_gpus_ask(job_ptr, MLQ_GPUS_OF_NODE, 3, &desc);
	ck_assert_str_eq(desc.tres_per_node, "gres:gpu:3");
	ck_assert_ptr_null(desc.tres_per_job);
	mlq_gpus_ask_done(job_ptr, &desc);
	ck_assert_ptr_null(desc.tres_per_node);
	ck_assert_str_eq(job_ptr->tres_per_node, "gres:gpu:2");
	xfree(job_ptr->tres_per_node);
}
END_TEST

extern TCase *gpu_request_cases(void)
{
	TCase *tcase = tcase_create("gpu request");

	tcase_add_checked_fixture(tcase, _setup, sched_teardown);
	tcase_add_test(tcase, each_way_of_saying_it);
	tcase_add_test(tcase, ways_that_are_left_as_they_are);
	tcase_add_test(tcase, another_number_is_said_in_the_same_way);
	return tcase;
}
