/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/sched/attempt.h"
#include "slurm-plugin/sched/gpu_request.h"
#include "slurm-plugin/sched/het.h"
#include "slurm-plugin/sched/hold.h"
#include "slurm-plugin/sched/resize.h"
#include "slurm-plugin/sched/shim.h"
#include "slurm-plugin/sched/size_request.h"

static bool _same_request(const mlq_size_request_t *a,
			  const mlq_size_request_t *b)
{
	return (a->cpus == b->cpus) && (a->tasks == b->tasks) &&
	       (a->cpus_per_task == b->cpus_per_task) &&
	       (a->tasks_per_node == b->tasks_per_node) &&
	       (a->cpus_per_node == b->cpus_per_node) &&
	       (a->min_nodes == b->min_nodes) &&
	       (a->max_nodes == b->max_nodes) &&
	       (a->gpus_of == b->gpus_of) && (a->gpus == b->gpus) &&
	       (a->cpus_per_gpu == b->cpus_per_gpu) &&
	       (a->whole_nodes == b->whole_nodes) &&
	       (a->memory_per_node == b->memory_per_node);
}

/* The pending job that was decided about, asking for the same as then. */
static job_record_t *_same_job(const mlq_sizing_t *sizing)
{
	job_record_t *job_ptr = mlq_find_job(
		sizing->job_id, sizing->submit_time, sizing->restarts);
	mlq_size_request_t now;

	if (!job_ptr || !IS_JOB_PENDING(job_ptr) ||
	    (job_ptr->job_state & JOB_STATE_FLAGS) || !job_ptr->priority)
		return NULL;
	mlq_size_request(job_ptr, &now);
	if (now.refusal || !_same_request(&now, &sizing->before))
		return NULL;
	return job_ptr;
}

/* A variable that the batch script gets instead of the one from sbatch. */
static void _set_environment(job_details_t *details, const char *name,
			     const char *value)
{
	size_t length = strlen(name);
	int i;

	for (i = 0; i < details->env_cnt; i++) {
		if (!xstrncmp(details->env_sup[i], name, length) &&
		    (details->env_sup[i][length] == '='))
			break;
	}
	if (i == details->env_cnt) {
		xrecalloc(details->env_sup, details->env_cnt + 1,
			  sizeof(char *));
		details->env_cnt++;
	}
	xfree(details->env_sup[i]);
	details->env_sup[i] = xstrdup_printf("%s=%s", name, value);
}

static void _set_one(job_record_t *job_ptr, job_record_t *leader,
		     const char *name, const char *value)
{
	char text[MLQ_HET_NAME_MAX];

	_set_environment(leader->details,
			 mlq_het_variable(job_ptr, name, text), value);
}

/* sbatch put them there, and srun in the script reads them; the leader of a
 * heterogeneous job has the script, and the variables of all components. */
static void _set_variables(job_record_t *job_ptr, const mlq_sizing_t *sizing)
{
	job_record_t *leader = mlq_het_leader(job_ptr);
	char tasks[16], *gpus;

	if (!leader || !leader->details)
		return;
	if (sizing->tasks != sizing->before.tasks) {
		snprintf(tasks, sizeof(tasks), "%u", sizing->tasks);
		_set_one(job_ptr, leader, "SLURM_NTASKS", tasks);
		_set_one(job_ptr, leader, "SLURM_NPROCS", tasks);
	}
	if (sizing->gpus && (sizing->gpus != sizing->before.gpus)) {
		gpus = mlq_gpus_variable(job_ptr, sizing->before.gpus_of,
					 sizing->gpus);
		_set_one(job_ptr, leader,
			 (sizing->before.gpus_of == MLQ_GPUS_OF_NODE)
				 ? "SLURM_GPUS_PER_NODE"
				 : "SLURM_GPUS",
			 gpus);
		xfree(gpus);
	}
}

/* Of this record alone, also where it is a heterogeneous job's leader. */
static int _set_size(job_record_t *job_ptr, const mlq_sizing_t *sizing)
{
	job_details_t *details = job_ptr->details;
	job_desc_msg_t desc;
	slurm_msg_t msg;
	int rc;

	slurm_init_job_desc_msg(&desc);
	slurm_msg_t_init(&msg);
	msg.data = &desc;
	mlq_desc_set_job(&desc, sizing->job_id);
	desc.num_tasks = sizing->tasks;
	desc.min_cpus = sizing->cpus;
	if (sizing->nodes) {
		desc.min_nodes = sizing->nodes;
		desc.max_nodes = sizing->nodes;
	}
	if (sizing->cpus_per_task) {
		desc.cpus_per_task = sizing->cpus_per_task;
		desc.pn_min_cpus = sizing->cpus_per_task;
	}
	if (sizing->gpus)
		mlq_gpus_ask(job_ptr, sizing->before.gpus_of, sizing->gpus,
			     &desc);
	/* unchanged; without it the memory of the job would count as none */
	if (details->pn_min_memory)
		desc.pn_min_memory = details->pn_min_memory;
	/* user_id stays NO_VAL: what the user may do, and no more */
	rc = update_job(&msg, job_ptr->user_id, false);
	mlq_gpus_ask_done(job_ptr, &desc);
	if (rc == SLURM_SUCCESS)
		_set_variables(job_ptr, sizing);
	return rc;
}

static int _try(void *arg)
{
	const mlq_sizing_t *sizing = arg;
	job_record_t *job_ptr = _same_job(sizing);

	return job_ptr ? _set_size(job_ptr, sizing) : MLQ_NOT_TRIED;
}

static void _apply_one(mlq_engine_t *engine, const mlq_sizing_t *sizing,
		       mlq_cycle_stats_t *stats)
{
	int rc = mlq_attempt(_try, (void *)sizing, stats);

	if ((rc == MLQ_NOT_TRIED) || mlq_too_early(rc))
		return; /* later */
	if (rc == SLURM_SUCCESS) {
		mlq_attempt_done(stats);
		info("%s: JobId=%u asks for %u tasks on %u CPUs now, before "
		     "%u on %u: %s",
		     plugin_type, sizing->job_id, sizing->tasks, sizing->cpus,
		     sizing->before.tasks, sizing->before.cpus, sizing->reason);
	}
	mlq_engine_size_done(engine, time(NULL), sizing->job_id,
			     sizing->submit_time, mlq_attempt_error(rc));
}

extern void mlq_apply_sizes(mlq_engine_t *engine, mlq_cycle_stats_t *stats)
{
	const mlq_sizing_t *sizings = NULL;
	size_t count = mlq_engine_sizings(engine, &sizings);

	for (size_t i = 0; i < count; i++) {
		if (mlq_stopping())
			return;
		_apply_one(engine, &sizings[i], stats);
	}
}
