/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmstepd. What comes from the job (the option's value, its environment) is
 * user-controlled and only copied within bounds after it was checked; what goes
 * into the token comes from Slurm and plugstack.conf alone.
 */
#include <inttypes.h>
#include <slurm/slurm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/request/batch_split.h"
#include "core/request/quality_request.h"
#include "core/token/job_token.h"
#include "slurm-plugin/spank/config.h"
#include "slurm-plugin/spank/contexts.h"
#include "slurm-plugin/spank/cores.h"
#include "slurm-plugin/spank/node_speeds.h"
#include "slurm-plugin/spank/option.h"

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

static void _set(spank_t sp, const char *name, const char *value)
{
	if (spank_setenv(sp, name, value, 1) != ESPANK_SUCCESS)
		slurm_error("ml_quality: cannot set %s", name);
}

static void _set_number(spank_t sp, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	_set(sp, name, text);
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

/* 1 with the text of a variable of the job, 0 if it isn't set, -1 on fault. */
static int _read(spank_t sp, const char *name, char *text, size_t size)
{
	spank_err_t rc = spank_getenv(sp, name, text, (int)size);

	if (rc == ESPANK_ENV_NOEXIST)
		return 0;
	return rc == ESPANK_SUCCESS ? 1 : -1;
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
		found = _read(sp, OPTION_DEFAULT, given, sizeof(given));
		if (!found)
			found = _read(sp, OPTION_TWIN, given, sizeof(given));
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

static int _claims(spank_t sp, uint32_t job_id, const config_t *config,
		   mlq_claims_t *claims)
{
	uid_t uid;

	memset(claims, 0, sizeof(*claims));
	claims->role = MLQ_ROLE_JOB;
	claims->job_id = job_id;
	if (spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS)
		return -1;
	claims->uid = uid;
	if (spank_get_item(sp, S_SLURM_RESTART_COUNT, &claims->restarts) !=
	    ESPANK_SUCCESS)
		claims->restarts = 0;
	snprintf(claims->cluster, sizeof(claims->cluster), "%s",
		 config->cluster);
	claims->issued = (int64_t)time(NULL);
	claims->expires =
		claims->issued + (int64_t)config->token_days * 24 * 60 * 60;
	return 0;
}

/* The key is in memory for this one call. */
static int _mint(const mlq_claims_t *claims, const char *key_path, char *token,
		 size_t token_size, char *error, size_t error_size)
{
	mlq_key_t key;
	int rc;

	rc = mlq_key_load(key_path, &key, error, error_size);
	if (!rc)
		rc = mlq_token_mint(claims, &key, token, token_size, error,
				    error_size);
	mlq_key_wipe(&key);
	return rc;
}

static void _let_report(spank_t sp, uint32_t job_id, int ac, char **av)
{
	char token[MLQ_TOKEN_MAX], error[MLQ_TOKEN_ERROR_MAX];
	mlq_claims_t claims;
	config_t config;

	if (config_parse(ac, av, &config, error, sizeof(error))) {
		slurm_error("ml_quality: plugstack.conf: %s; JobId=%u cannot "
			    "report",
			    error, job_id);
		return;
	}
	if (_claims(sp, job_id, &config, &claims)) {
		slurm_error("ml_quality: JobId=%u has no user; it cannot "
			    "report",
			    job_id);
		return;
	}
	if (_mint(&claims, config.key, token, sizeof(token), error,
		  sizeof(error))) {
		slurm_error("ml_quality: %s; JobId=%u cannot report", error,
			    job_id);
		return;
	}
	_set(sp, "MLQ_URL", config.url);
	_set(sp, "MLQ_CLUSTER", config.cluster);
	_set(sp, "MLQ_TOKEN", token);
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
	_set(sp, "MLQ_FAMILY", family);
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
	_set(sp, "MLQ_UNIT", unit);
}

static void _describe(spank_t sp, uint32_t job_id, const mlq_request_t *request)
{
	char cpus[4096];
	uint32_t cores = 0;

	_set_number(sp, "MLQ_JOB", job_id);
	_set(sp, "MLQ_GOAL", request->goal == MLQ_GOAL_MAX ? "max" : "min");
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
	    _read(sp, NODE_SPEEDS, speeds, NODE_SPEEDS_MAX) > 0 &&
	    _read(sp, "SLURM_STEP_NODELIST", nodes, NODE_SPEEDS_MAX) > 0 &&
	    _read(sp, "SLURM_STEP_TASKS_PER_NODE", tasks, NODE_SPEEDS_MAX) >
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
	if (ml || option_value() || _holds_other_jobs(sp, job_id))
		_remove_all(sp);
	spank_unsetenv(sp, OPTION_TWIN);
	if (!ml)
		return;
	global_batch = request.batch;
	_describe(sp, job_id, &request);
	_let_report(sp, job_id, ac, av);
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
