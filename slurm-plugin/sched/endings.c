/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/sched/clock.h"
#include "slurm-plugin/sched/endings.h"
#include "slurm-plugin/sched/hold.h"
#include "slurm-plugin/sched/layout.h"
#include "slurm-plugin/sched/shim.h"
#include "slurm-plugin/sched/snapshot.h"

#define PIECE_US 1000 /* a piece ends when it held the lock so long */
#define PIECE_ENDINGS 8

/* Another user's job is nobody's parent, whatever the companion says. */
static bool _parent_runs(const mlq_ending_t *ending)
{
	job_record_t *parent = find_job_record(ending->parent_id);

	return parent && (parent->magic == JOB_MAGIC) &&
	       (IS_JOB_RUNNING(parent) || IS_JOB_SUSPENDED(parent)) &&
	       (parent->user_id == ending->user_id);
}

/* The record the ending is about, if it is still that companion and not over.
 */
static job_record_t *_same_companion(const mlq_ending_t *ending)
{
	job_record_t *job_ptr = mlq_find_job(
		ending->job_id, ending->submit_time, ending->restarts);
	const char *request;
	char expected[32];

	if (!job_ptr || (job_ptr->user_id != ending->user_id))
		return NULL;
	snprintf(expected, sizeof(expected), "companion=%u", ending->parent_id);
	request = mlq_request_of(job_ptr);
	if (!request || strcmp(request, expected))
		return NULL;
	if (IS_JOB_FINISHED(job_ptr) || IS_JOB_COMPLETING(job_ptr))
		return NULL;
	return job_ptr;
}

static bool _end_one(const mlq_ending_t *ending)
{
	job_record_t *job_ptr = _same_companion(ending);
	bool kill;

	if (!job_ptr || ((ending->kind == MLQ_END_ORPHAN) && _parent_runs(ending)))
		return false;
	/* a job that has not started knows no other signal */
	kill = ending->kill || !IS_JOB_RUNNING(job_ptr);
	if (job_signal(job_ptr, kill ? SIGKILL : SIGTERM,
		       kill ? 0 : KILL_FULL_JOB, 0, false))
		return false;
	info("%s: companion JobId=%u of JobId=%u: %s, %s", plugin_type,
	     ending->job_id, ending->parent_id, ending->reason,
	     kill ? "ended" : "SIGTERM sent");
	return true;
}

static size_t _end_piece(const mlq_ending_t *endings, size_t count,
			 mlq_cycle_stats_t *stats)
{
	slurmctld_lock_t locks = {.conf = READ_LOCK,
				  .job = WRITE_LOCK,
				  .node = WRITE_LOCK,
				  .part = READ_LOCK,
				  .fed = READ_LOCK};
	uint64_t began, held;
	size_t done = 0;

	mlq_pause();
	lock_slurmctld(locks);
	if (mlq_stopping()) {
		unlock_slurmctld(locks);
		return count;
	}
	began = mlq_clock_us();
	do {
		if (_end_one(&endings[done++]))
			stats->endings++;
	} while ((done < count) && (done < PIECE_ENDINGS) &&
		 (mlq_clock_us() - began < PIECE_US));
	held = mlq_clock_us() - began;
	unlock_slurmctld(locks);

	mlq_count_write_hold(stats, held);
	return done;
}

extern void mlq_end(const mlq_ending_t *endings, size_t count,
		    mlq_cycle_stats_t *stats)
{
	for (size_t done = 0; done < count;) {
		if (mlq_stopping())
			return;
		done += _end_piece(endings + done, count - done, stats);
	}
}
