/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/sched/attempt.h"
#include "slurm-plugin/sched/het.h"
#include "slurm-plugin/sched/hold.h"
#include "slurm-plugin/sched/layout.h"
#include "slurm-plugin/sched/requeue.h"
#include "slurm-plugin/sched/shim.h"
#include "slurm-plugin/sched/size_request.h"

/* Slurm and the job's user let it be requeued, and its size can be chosen. */
static bool _allowed(job_record_t *job_ptr)
{
	mlq_size_request_t asks;

	if (!mlq_het_requeueable(job_ptr))
		return false;
	if (job_ptr->het_job_id) /* each component is looked at by itself */
		return true;
	mlq_size_request(job_ptr, &asks);
	return !asks.refusal;
}

/* Slurm is still busy with its end or its start. */
static bool _is_settled(job_record_t *job_ptr, void *arg)
{
	(void)arg;
	return !(job_ptr->job_state & JOB_STATE_FLAGS);
}

static bool _is_running(job_record_t *job_ptr, void *arg)
{
	(void)arg;
	return IS_JOB_RUNNING(job_ptr);
}

/* It ended in its own way; a user or a limit that ended it is to be obeyed. */
static bool _ended_by_itself(job_record_t *job_ptr, void *arg)
{
	const uint32_t base = job_ptr->job_state & JOB_STATE_BASE;

	(void)arg;
	return (base == JOB_COMPLETE) || (base == JOB_FAILED);
}

static job_record_t *_same_job(const mlq_requeue_t *requeue)
{
	job_record_t *job_ptr = mlq_find_job(
		requeue->job_id, requeue->submit_time, requeue->restarts);

	if (!job_ptr || !_is_settled(job_ptr, NULL) || !_allowed(job_ptr))
		return NULL;
	if (IS_JOB_RUNNING(job_ptr) ||
	    ((requeue->kind == MLQ_REQUEUE_NOW) &&
	     _ended_by_itself(job_ptr, NULL)))
		return job_ptr;
	return NULL;
}

static int _is_users_step(void *x, void *arg)
{
	step_record_t *step_ptr = x;

	(void)arg;
	/* steps that Slurm makes by itself have the highest numbers */
	return (step_ptr->step_id.step_id <= SLURM_MAX_NORMAL_STEP_ID) ? -1 : 0;
}

static bool _has_no_steps(job_record_t *job_ptr, void *arg)
{
	(void)arg;
	return !job_ptr->step_list ||
	       (list_for_each_ro(job_ptr->step_list, _is_users_step, NULL) >=
		0);
}

static bool _has_no_signal(job_record_t *job_ptr, void *arg)
{
	(void)arg;
	return !job_ptr->warn_signal;
}

static bool _warn_its_way(job_record_t *job_ptr, void *arg)
{
	(void)arg;
	if (job_ptr->warn_signal)
		send_job_warn_signal(job_ptr, true);
	return true;
}

static bool _warn_steps(job_record_t *job_ptr, void *arg)
{
	int *rc = arg, rc1 = SLURM_SUCCESS;

	if (!_has_no_steps(job_ptr, NULL))
		rc1 = job_signal(job_ptr, SIGTERM, KILL_STEPS_ONLY, 0, false);
	if (rc1 != SLURM_SUCCESS)
		*rc = rc1;
	return true;
}

/* As the job asked for with --signal; else as at its time limit, but past the
 * batch script where srun runs the training. */
static int _warn(job_record_t *leader)
{
	int rc = SLURM_SUCCESS;

	if (!mlq_het_all(leader, _has_no_signal, NULL)) {
		mlq_het_all(leader, _warn_its_way, NULL);
		return SLURM_SUCCESS;
	}
	if (mlq_het_all(leader, _has_no_steps, NULL))
		return job_signal(leader, SIGTERM, KILL_FULL_JOB, 0, false);
	mlq_het_all(leader, _warn_steps, &rc);
	return rc;
}

static int _try(void *arg)
{
	const mlq_requeue_t *requeue = arg;
	job_record_t *job_ptr = _same_job(requeue), *leader;

	if (!job_ptr || !(leader = mlq_het_leader(job_ptr)) ||
	    !mlq_het_all(leader, _is_settled, NULL))
		return MLQ_NOT_TRIED;
	/* a component that was cancelled by itself stays so: it would be
	 * requeued with the others */
	if (!mlq_het_all(leader, _is_running, NULL) &&
	    ((requeue->kind != MLQ_REQUEUE_NOW) ||
	     !mlq_het_all(leader, _ended_by_itself, NULL)))
		return ESLURM_DISABLED;
	if (requeue->kind == MLQ_REQUEUE_WARN)
		return _warn(leader);
	return mlq_requeue_job(leader);
}

static void _apply_one(mlq_engine_t *engine, const mlq_requeue_t *requeue,
		       mlq_cycle_stats_t *stats)
{
	int rc = mlq_attempt(_try, (void *)requeue, stats);

	if (rc == MLQ_NOT_TRIED)
		return; /* another run, or over: the engine sees so itself */
	if (rc == SLURM_SUCCESS) {
		mlq_attempt_done(stats);
		info("%s: JobId=%u %s: %s", plugin_type, requeue->job_id,
		     requeue->kind == MLQ_REQUEUE_WARN ? "told to save"
						       : "requeued",
		     requeue->reason);
	}
	mlq_engine_requeue_done(engine, time(NULL), requeue,
				mlq_attempt_error(rc));
}

extern void mlq_apply_requeues(mlq_engine_t *engine, mlq_cycle_stats_t *stats)
{
	const mlq_requeue_t *requeues = NULL;
	size_t count = mlq_engine_requeues(engine, &requeues);

	for (size_t i = 0; i < count; i++) {
		if (mlq_stopping())
			return;
		_apply_one(engine, &requeues[i], stats);
	}
}

static int _wake(void *arg)
{
	const uint32_t *job_id = arg;
	job_record_t *job_ptr = find_job_record(*job_id);
	time_t now = time(NULL);

	if (!job_ptr || mlq_layout_fault(job_ptr) ||
	    !mlq_het_unseen(job_ptr, now))
		return MLQ_NOT_TRIED;
	last_job_update = now;
	return SLURM_SUCCESS;
}

extern void mlq_wake_backfill(uint32_t job_id, mlq_cycle_stats_t *stats)
{
	if (job_id && (mlq_attempt(_wake, &job_id, stats) == SLURM_SUCCESS))
		verbose("%s: JobId=%u has become eligible: backfill is to look",
			plugin_type, job_id);
}
