/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/sched/apply.h"
#include "slurm-plugin/sched/clock.h"
#include "slurm-plugin/sched/hold.h"
#include "slurm-plugin/sched/shim.h"

#define PIECE_US 1000 /* a piece ends when it held the lock so long */
#define PIECE_JOBS 64

/* Pending, not held, and its priority is Slurm's to compute. */
static bool _rankable(job_record_t *job_ptr)
{
	return IS_JOB_PENDING(job_ptr) &&
	       !(job_ptr->job_state & JOB_STATE_FLAGS) && job_ptr->priority &&
	       !job_ptr->direct_set_prio && !job_ptr->het_job_id;
}

static bool _set_site_factor(job_record_t *job_ptr, uint32_t site_factor)
{
	if (!_rankable(job_ptr))
		return false;
	mlq_set_site_factor(job_ptr, NICE_OFFSET + site_factor);
	return true;
}

/* The database knows the job's record, or there is no database. */
static bool _accounting_ready(job_record_t *job_ptr)
{
	return !slurm_with_slurmdbd() || (acct_db_conn && job_ptr->db_index &&
					  (job_ptr->db_index != NO_VAL64));
}

/*
 * The exit code as it was when the job's end was recorded. slurmctld puts the
 * batch script's own code into the record when it comes later, that is when
 * Slurm ended the job; 1 is what slurmctld itself writes for a lost job.
 */
static uint32_t _recorded_exit_code(job_record_t *job_ptr)
{
	switch (job_ptr->job_state & JOB_STATE_BASE) {
	case JOB_FAILED:
	case JOB_OOM:
		return job_ptr->exit_code;
	default:
		return (job_ptr->exit_code == 1) ? 1 : 0;
	}
}

/*
 * The accounting record of a job that ended was sent when it ended; it is sent
 * again with the last text. Members that are empty stay as they are in the
 * database, and every other value is the one that was sent first. The message
 * is packed and queued by the call, so the job's record may be borrowed for it.
 */
static void _send_end_again(job_record_t *job_ptr)
{
	uint32_t derived_ec = job_ptr->derived_ec;
	uint32_t exit_code = job_ptr->exit_code;
	char *tres_alloc_str = job_ptr->tres_alloc_str;
	char *comment = job_ptr->comment;

	job_ptr->derived_ec = NO_VAL;
	job_ptr->exit_code = _recorded_exit_code(job_ptr);
	job_ptr->tres_alloc_str = NULL;
	job_ptr->comment = NULL;
	jobacct_storage_g_job_complete(acct_db_conn, job_ptr);
	job_ptr->derived_ec = derived_ec;
	job_ptr->exit_code = exit_code;
	job_ptr->tres_alloc_str = tres_alloc_str;
	job_ptr->comment = comment;
}

static bool _set_comment(job_record_t *job_ptr, const char *text,
			 const char *expected)
{
	const uint32_t not_over = JOB_REQUEUE | JOB_RESIZING | JOB_REVOKED;
	bool ended = IS_JOB_FINISHED(job_ptr);

	/* somebody else wrote there since the snapshot: merge anew next time */
	if (xstrcmp(job_ptr->admin_comment, expected))
		return false;
	if (ended &&
	    ((job_ptr->job_state & not_over) || !_accounting_ready(job_ptr)))
		return false;
	xfree(job_ptr->admin_comment);
	job_ptr->admin_comment = xstrdup(text);
	if (ended && slurm_with_slurmdbd())
		_send_end_again(job_ptr);
	return true;
}

static bool _apply_one(const mlq_snapshot_t *snapshot,
		       const mlq_decision_t *decision)
{
	job_record_t *job_ptr = mlq_find_job(decision->job_id,
					     decision->submit_time,
					     decision->restarts);
	bool changed = false;

	if (!job_ptr || (decision->index >= snapshot->count))
		return false;
	if (decision->set_site_factor)
		changed = _set_site_factor(job_ptr, decision->site_factor);
	if (decision->admin_comment)
		changed |= _set_comment(
			job_ptr, decision->admin_comment,
			snapshot->jobs[decision->index].admin_comment);
	return changed;
}

/* Returns how many decisions the piece took. */
static size_t _apply_piece(const mlq_snapshot_t *snapshot,
			   const mlq_decision_t *decisions, size_t count,
			   mlq_cycle_stats_t *stats)
{
	slurmctld_lock_t locks = {.conf = READ_LOCK,
				  .job = WRITE_LOCK,
				  .node = READ_LOCK,
				  .part = READ_LOCK};
	uint64_t began, held;
	size_t done = 0;
	uint32_t applied = 0;
	bool save = false;

	mlq_pause();
	lock_slurmctld(locks);
	if (mlq_stopping()) {
		unlock_slurmctld(locks);
		return count;
	}
	began = mlq_clock_us();
	do {
		if (_apply_one(snapshot, &decisions[done])) {
			applied++;
			save |= decisions[done].save;
		}
		done++;
	} while ((done < count) && (done < PIECE_JOBS) &&
		 (mlq_clock_us() - began < PIECE_US));
	if (applied)
		last_job_update = time(NULL);
	held = mlq_clock_us() - began;
	unlock_slurmctld(locks);
	if (save)
		schedule_job_save();

	stats->applied += applied;
	mlq_count_write_hold(stats, held);
	return done;
}

extern void mlq_apply(const mlq_snapshot_t *snapshot,
		      const mlq_decision_t *decisions, size_t count,
		      mlq_cycle_stats_t *stats)
{
	for (size_t done = 0; done < count;) {
		if (mlq_stopping())
			return;
		done += _apply_piece(snapshot, decisions + done, count - done,
				     stats);
	}
}

extern void mlq_apply_nothing(const mlq_snapshot_t *snapshot,
			      mlq_cycle_stats_t *stats)
{
	for (size_t i = 0; i < snapshot->count; i++) {
		const mlq_job_snapshot_t *job = &snapshot->jobs[i];
		mlq_decision_t decision = {.index = i,
					   .job_id = job->job_id,
					   .restarts = job->restarts,
					   .submit_time = job->submit_time,
					   .set_site_factor = true};

		if (job->rankable && job->site_factor)
			mlq_apply(snapshot, &decision, 1, stats);
	}
}
