/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/sched/clock.h"
#include "slurm-plugin/sched/hold.h"
#include "slurm-plugin/sched/requeue.h"
#include "slurm-plugin/sched/shim.h"
#include "slurm-plugin/sched/size_request.h"

/* What job_requeue() and job_signal() may touch. */
static const slurmctld_lock_t requeue_locks = {.conf = READ_LOCK,
					       .job = WRITE_LOCK,
					       .node = WRITE_LOCK,
					       .part = READ_LOCK,
					       .fed = READ_LOCK};

/* Slurm and the job's user let it be requeued, and its size can be chosen. */
static bool _allowed(job_record_t *job_ptr)
{
	mlq_size_request_t asks;

	if (!job_ptr->batch_flag || !job_ptr->details->requeue)
		return false;
	mlq_size_request(job_ptr, &asks);
	return !asks.refusal;
}

/* It ended in its own way; a user or a limit that ended it is to be obeyed. */
static bool _ended_by_itself(job_record_t *job_ptr)
{
	const uint32_t base = job_ptr->job_state & JOB_STATE_BASE;

	return (base == JOB_COMPLETE) || (base == JOB_FAILED);
}

static job_record_t *_same_job(const mlq_requeue_t *requeue)
{
	job_record_t *job_ptr = mlq_find_job(
		requeue->job_id, requeue->submit_time, requeue->restarts);

	if (!job_ptr || (job_ptr->job_state & JOB_STATE_FLAGS) ||
	    !_allowed(job_ptr))
		return NULL;
	if (IS_JOB_RUNNING(job_ptr) || ((requeue->kind == MLQ_REQUEUE_NOW) &&
					_ended_by_itself(job_ptr)))
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

/* As the job asked for with --signal; else as at its time limit, but past the
 * batch script where srun runs the training. */
static int _warn(job_record_t *job_ptr)
{
	bool steps;

	if (job_ptr->warn_signal) {
		send_job_warn_signal(job_ptr, true);
		return SLURM_SUCCESS;
	}
	steps = job_ptr->step_list &&
		(list_for_each_ro(job_ptr->step_list, _is_users_step, NULL) < 0);
	return job_signal(job_ptr, SIGTERM,
			  steps ? KILL_STEPS_ONLY : KILL_FULL_JOB, 0, false);
}

static int _do(job_record_t *job_ptr, const mlq_requeue_t *requeue)
{
	if (requeue->kind == MLQ_REQUEUE_WARN)
		return _warn(job_ptr);
	/* as its user would */
	return job_requeue(job_ptr->user_id, requeue->job_id, NULL, false, 0);
}

static void _apply_one(mlq_engine_t *engine, const mlq_requeue_t *requeue,
		       mlq_cycle_stats_t *stats)
{
	job_record_t *job_ptr;
	uint64_t began, held;
	bool tried = false;
	int rc = SLURM_SUCCESS;

	mlq_pause();
	lock_slurmctld(requeue_locks);
	began = mlq_clock_us();
	if (!mlq_stopping() && (job_ptr = _same_job(requeue))) {
		rc = _do(job_ptr, requeue);
		tried = true;
	}
	held = mlq_clock_us() - began;
	unlock_slurmctld(requeue_locks);

	mlq_count_write_hold(stats, held);
	if (!tried) /* another run, or over: the engine sees so itself */
		return;
	if (rc == SLURM_SUCCESS) {
		schedule_job_save();
		schedule_node_save();
		stats->applied++;
		info("%s: JobId=%u %s: %s", plugin_type, requeue->job_id,
		     requeue->kind == MLQ_REQUEUE_WARN ? "told to save"
						       : "requeued",
		     requeue->reason);
	}
	mlq_engine_requeue_done(engine, time(NULL), requeue,
				rc == SLURM_SUCCESS ? NULL : slurm_strerror(rc));
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
