/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmstepd. What comes from the job (the option's value, its environment) is
 * user-controlled and only copied within bounds after it was checked.
 */
#include <inttypes.h>
#include <slurm/slurm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/request/batch_split.h"
#include "core/request/quality_request.h"
#include "slurm-plugin/spank/contexts.h"
#include "slurm-plugin/spank/cores.h"
#include "slurm-plugin/spank/job_env.h"
#include "slurm-plugin/spank/node_speeds.h"
#include "slurm-plugin/spank/option.h"
#include "slurm-plugin/spank/reporting.h"

#define MLQ_JOB_NAME_MAX 128 /* bytes, NUL included */

/* Everything this plugin gives to a job. */
static const char *const names[] = {
	"MLQ_URL",	    "MLQ_TOKEN",      "MLQ_CLUSTER",
	"MLQ_JOB",	    "MLQ_CORES",      "MLQ_GOAL",
	"MLQ_GLOBAL_BATCH", "MLQ_BATCH_SIZE", "MLQ_BATCH_OFFSET",
	"MLQ_FAMILY",	    "MLQ_UNIT",	      NODE_SPEEDS,
};

/* The global batch to split over the tasks; 0 = none. */
static uint64_t global_batch;

/* How much of it is for this node, where that is known. */
static node_part_t part;

static void _set_number(spank_t sp, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	job_env_set(sp, name, text);
}

static void _remove_all(spank_t sp)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		spank_unsetenv(sp, names[i]);
}

/* A job submitted from inside another one inherits that one's variables. */
static bool _holds_other_jobs(spank_t sp, uint32_t job_id)
{
	char theirs[24], ours[24];
	spank_err_t rc = spank_getenv(sp, "MLQ_JOB", theirs, sizeof(theirs));

	if (rc == ESPANK_ENV_NOEXIST)
		return false;
	snprintf(ours, sizeof(ours), "%" PRIu32, job_id);
	return rc != ESPANK_SUCCESS || strcmp(theirs, ours);
}

/*
 * The option; without it what Slurm keeps of it for inner sruns, which is all
 * that a batch script gets under sbatch --export=NONE; else the twin, for jobs
 * that no command of Slurm submitted (slurmrestd knows no plugin's options).
 * False: not an ML job.
 */
static bool _find_request(spank_t sp, uint32_t job_id, mlq_request_t *request)
{
	char given[MLQ_REQUEST_MAX], error[MLQ_REQUEST_ERROR_MAX];
	const char *text = option_value();
	int found;

	if (!text) {
		found = job_env_read(sp, OPTION_DEFAULT, given, sizeof(given));
		if (!found)
			found = job_env_read(sp, OPTION_TWIN, given, sizeof(given));
		if (found < 0)
			slurm_error("ml_quality: JobId=%u " OPTION_TWIN
				    ": cannot be read or is longer than %d "
				    "bytes; taken for an ordinary job",
				    job_id, MLQ_REQUEST_MAX - 1);
		if (found <= 0 || !given[0])
			return false;
		text = given;
	}
	if (mlq_request_parse(text, request, error, sizeof(error))) {
		slurm_error("ml_quality: JobId=%u %s; taken for an ordinary "
			    "job",
			    job_id, error);
		return false;
	}
	return !request->off;
}

/* Without family= a training is known by its job's name. */
static void _describe_family(spank_t sp, const mlq_request_t *request)
{
	char family[MLQ_JOB_NAME_MAX], unit[16];

	if (request->family[0])
		snprintf(family, sizeof(family), "%s", request->family);
	else if (spank_getenv(sp, "SLURM_JOB_NAME", family, sizeof(family)) !=
			 ESPANK_SUCCESS ||
		 !family[0])
		strcpy(family, "-");
	for (char *c = family; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '_';
	job_env_set(sp, "MLQ_FAMILY", family);
	switch (request->unit) {
	case MLQ_UNIT_GPU:
		strcpy(unit, "gpu");
		break;
	case MLQ_UNIT_NODE:
		strcpy(unit, "node");
		break;
	case MLQ_UNIT_CORES:
		snprintf(unit, sizeof(unit), "%" PRIu32,
			 request->cores_per_unit);
		break;
	default:
		strcpy(unit, "core");
	}
	job_env_set(sp, "MLQ_UNIT", unit);
}

static void _describe(spank_t sp, uint32_t job_id, const mlq_request_t *request)
{
	char cpus[4096];
	uint32_t cores = 0;

	_set_number(sp, "MLQ_JOB", job_id);
	job_env_set(sp, "MLQ_GOAL", request->goal == MLQ_GOAL_MAX ? "max" : "min");
	if (spank_getenv(sp, "SLURM_JOB_CPUS_PER_NODE", cpus, sizeof(cpus)) ==
	    ESPANK_SUCCESS)
		cores = cores_sum(cpus);
	if (cores)
		_set_number(sp, "MLQ_CORES", cores);
	if (request->batch)
		_set_number(sp, "MLQ_GLOBAL_BATCH", request->batch);
	_describe_family(sp, request);
}

/*
 * Every node of the step has these texts alike, and takes the equal split alike
 * if one of them is missing or wrong.
 */
static void _find_part(spank_t sp)
{
	char *speeds = malloc(NODE_SPEEDS_MAX), *nodes = malloc(NODE_SPEEDS_MAX),
	     *tasks = malloc(NODE_SPEEDS_MAX);
	uint32_t ranks, node;

	memset(&part, 0, sizeof(part));
	if (speeds && nodes && tasks &&
	    job_env_read(sp, NODE_SPEEDS, speeds, NODE_SPEEDS_MAX) > 0 &&
	    job_env_read(sp, "SLURM_STEP_NODELIST", nodes, NODE_SPEEDS_MAX) > 0 &&
	    job_env_read(sp, "SLURM_STEP_TASKS_PER_NODE", tasks, NODE_SPEEDS_MAX) >
		    0 &&
	    spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &ranks) ==
		    ESPANK_SUCCESS &&
	    spank_get_item(sp, S_JOB_NODEID, &node) == ESPANK_SUCCESS)
		node_speeds_part(speeds, nodes, tasks, ranks, node, &part);
	free(speeds);
	free(nodes);
	free(tasks);
}

static int _weighed(spank_t sp, uint64_t *size, uint64_t *offset)
{
	int local;
	mlq_weighed_rank_t rank = {.ranks = part.ranks,
				   .weight = part.weight,
				   .total = part.total};

	if (spank_get_item(sp, S_TASK_ID, &local) != ESPANK_SUCCESS ||
	    local < 0 || (uint32_t)local >= part.here)
		return -1;
	rank.index = part.first + (uint32_t)local;
	rank.before = part.before + part.weight * (uint64_t)local;
	return mlq_batch_split_weighed(global_batch, &rank, size, offset);
}

void remote_post_opt(spank_t sp, int ac, char **av)
{
	uint32_t job_id, step_id;
	mlq_request_t request;
	inherited_t inherited;
	bool ml;

	global_batch = 0;
	memset(&part, 0, sizeof(part));
	if (spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS ||
	    step_id == SLURM_EXTERN_CONT)
		return;

	ml = _find_request(sp, job_id, &request);
	if (ml && request.batch)
		_find_part(sp);
	reporting_inherit(sp, job_id, step_id, &inherited);
	if (ml || option_value() || _holds_other_jobs(sp, job_id))
		_remove_all(sp);
	spank_unsetenv(sp, OPTION_TWIN);
	if (!ml)
		return;
	global_batch = request.batch;
	_describe(sp, job_id, &request);
	reporting_set(sp, job_id, &inherited, ac, av);
}

void remote_task_init(spank_t sp)
{
	uint32_t rank, ranks;
	uint64_t size, offset;

	if (!global_batch)
		return;
	if (part.total) {
		if (_weighed(sp, &size, &offset)) {
			slurm_error("ml_quality: no place in the node's batch");
			return;
		}
	} else if (spank_get_item(sp, S_TASK_GLOBAL_ID, &rank) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &ranks) !=
		    ESPANK_SUCCESS ||
	    mlq_batch_split(global_batch, ranks, rank, &size, &offset)) {
		slurm_error("ml_quality: no rank to split the batch for");
		return;
	}
	_set_number(sp, "MLQ_BATCH_SIZE", size);
	_set_number(sp, "MLQ_BATCH_OFFSET", offset);
}
