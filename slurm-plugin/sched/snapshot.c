/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/sched/clock.h"
#include "slurm-plugin/sched/gpus.h"
#include "slurm-plugin/sched/het.h"
#include "slurm-plugin/sched/layout.h"
#include "slurm-plugin/sched/shim.h"
#include "slurm-plugin/sched/size_request.h"
#include "slurm-plugin/sched/snapshot.h"

#define REQUEST_MAX 1024 /* longer ones are refused at submission */
#define NAME_MAX_COPY 1024
#define COMMENT_MAX_COPY 8192
#define FIRST_JOBS 256
#define LAYOUT_SAMPLE 64 /* records looked at before the first use */
#define MAX_TRIES 3
#define WALK_PIECE 256 /* records a piece of the walk looks at */
#define WALK_PIECES 16 /* or so many pieces, if that is less */
#define PIECE_JOBS 64
#define JOB_TEXT_MAX (6 * NAME_MAX_COPY + REQUEST_MAX + COMMENT_MAX_COPY + 8)
#define BLOCK_TEXT (PIECE_JOBS * JOB_TEXT_MAX / 4)

struct mlq_text_block {
	mlq_text_block_t *next;
	size_t used;
	char text[BLOCK_TEXT];
};

typedef struct {
	mlq_snapshot_t *snapshot;
	time_t now;
	int ended_s;
	uint32_t looked_at;
	size_t position;   /* in the list */
	size_t start, end; /* of the piece */
	uint32_t last_id;  /* of the record before the piece */
	bool more;	   /* the list goes on behind the piece */
	bool moved;	   /* another record stands before the piece now */
	size_t found;	   /* ML jobs, whether their ids fit or not */
	const char *fault;
	bool stopped; /* the plugin is to end: nothing may be looked at */
} walk_t;

/* The caller saw to it that a whole job's text fits into the block. */
static const char *_copy(mlq_text_block_t *block, const char *text, size_t max)
{
	size_t length;
	char *at;

	if (!text)
		return NULL;
	length = strnlen(text, max);
	at = block->text + block->used;
	memcpy(at, text, length);
	at[length] = '\0';
	block->used += length + 1;
	return at;
}

static const char *_why_not_ranked(job_record_t *job_ptr)
{
	if (!IS_JOB_PENDING(job_ptr))
		return "not pending";
	if (job_ptr->job_state & JOB_STATE_FLAGS)
		return "Slurm is still busy with its requeue or end";
	if (!job_ptr->priority)
		return "held";
	if (job_ptr->direct_set_prio)
		return "its priority was set by hand";
	if (job_ptr->het_job_id)
		return "part of a heterogeneous job";
	return NULL;
}

static mlq_job_state_t _state_of(job_record_t *job_ptr)
{
	if (IS_JOB_PENDING(job_ptr))
		return MLQ_JOB_PENDING;
	if (IS_JOB_SUSPENDED(job_ptr))
		return MLQ_JOB_SUSPENDED;
	if (IS_JOB_FINISHED(job_ptr))
		return MLQ_JOB_ENDED;
	return MLQ_JOB_RUNNING;
}

static void _fill_times(job_record_t *job_ptr, time_t now,
			mlq_job_snapshot_t *job)
{
	job->submit_time = job_ptr->details->submit_time;
	/* of a pending job it is when backfill expects to start it */
	if (job->state != MLQ_JOB_PENDING)
		job->start_time = job_ptr->start_time;
	if (job->state == MLQ_JOB_ENDED)
		job->end_time = job_ptr->end_time;
	job->suspended_s = job_ptr->tot_sus_time;
	if ((job->state == MLQ_JOB_SUSPENDED) && job_ptr->suspend_time &&
	    (job_ptr->suspend_time < now))
		job->suspended_s += now - job_ptr->suspend_time;
}

static void _fill_size(job_record_t *job_ptr, mlq_job_snapshot_t *job)
{
	if (job->state == MLQ_JOB_PENDING) {
		job->cores = job_ptr->details->min_cpus;
		job->nodes = job_ptr->details->min_nodes;
	} else {
		job->cores = job_ptr->total_cpus;
		job->nodes = job_ptr->total_nodes;
	}
	if (job->state != MLQ_JOB_ENDED)
		mlq_size_request(job_ptr, &job->size);
	if (!job->cores || (job->cores >= NO_VAL))
		job->cores = 1;
	job->node = MLQ_NO_NODE;
	if (((job->state == MLQ_JOB_RUNNING) ||
	     (job->state == MLQ_JOB_SUSPENDED)) &&
	    job_ptr->node_bitmap && (bit_ffs(job_ptr->node_bitmap) >= 0))
		job->node = bit_ffs(job_ptr->node_bitmap);
}

static void _fill_gpus(job_record_t *job_ptr, mlq_text_block_t *block,
		       mlq_job_snapshot_t *job)
{
	if ((job->state != MLQ_JOB_RUNNING) &&
	    (job->state != MLQ_JOB_SUSPENDED))
		return;
	job->gpus = mlq_gpus_held(job_ptr);
	job->gpu_type =
		_copy(block, mlq_gpu_type_asked(job_ptr, &job->mixed_gpus),
		      NAME_MAX_COPY);
}

static void _fill(job_record_t *job_ptr, const char *request, time_t now,
		  mlq_text_block_t *block, mlq_job_snapshot_t *job)
{
	memset(job, 0, sizeof(*job));
	job->job_id = job_ptr->job_id;
	job->user_id = job_ptr->user_id;
	job->restarts = job_ptr->restart_cnt;
	job->array_job_id = job_ptr->array_job_id;
	job->array_task_id = job_ptr->array_task_id;
	job->state = _state_of(job_ptr);
	_fill_times(job_ptr, now, job);
	_fill_size(job_ptr, job);
	job->not_ranked = _why_not_ranked(job_ptr);
	job->rankable = !job->not_ranked;
	mlq_het_fill(job_ptr, job);
	if (job_ptr->site_factor > NICE_OFFSET)
		job->site_factor = job_ptr->site_factor - NICE_OFFSET;
	job->user = _copy(block, job_ptr->user_name, NAME_MAX_COPY);
	job->account = _copy(block, job_ptr->account, NAME_MAX_COPY);
	job->partition = _copy(block, job_ptr->partition, NAME_MAX_COPY);
	job->name = _copy(block, job_ptr->name, NAME_MAX_COPY);
	job->request = _copy(block, request, REQUEST_MAX);
	job->features = _copy(block, job_ptr->details->features, NAME_MAX_COPY);
	job->admin_comment =
		_copy(block, job_ptr->admin_comment, COMMENT_MAX_COPY);
	_fill_gpus(job_ptr, block, job);
	if (job->state == MLQ_JOB_ENDED) /* static storage */
		job->end_state =
			job_state_string(job_ptr->job_state & JOB_STATE_BASE);
}

static bool _too_long_ago(job_record_t *job_ptr, const walk_t *walk)
{
	return IS_JOB_FINISHED(job_ptr) &&
	       (job_ptr->end_time + walk->ended_s < walk->now);
}

/* Skips what earlier pieces saw; true when the record is of this piece. */
static bool _in_piece(const job_record_t *job_ptr, walk_t *walk)
{
	size_t number = ++walk->position;

	if (number == walk->start)
		walk->moved = (job_ptr->job_id != walk->last_id);
	walk->more = (number > walk->end);
	return (number > walk->start) && !walk->more;
}

static int _note_id(void *x, void *arg)
{
	job_record_t *job_ptr = x;
	walk_t *walk = arg;
	mlq_snapshot_t *to = walk->snapshot;

	if (!_in_piece(job_ptr, walk))
		return walk->more ? -1 : 0;
	if (walk->moved)
		return -1;
	walk->last_id = job_ptr->job_id;
	if (!to->layout_checked && (walk->looked_at < LAYOUT_SAMPLE)) {
		if ((walk->fault = mlq_layout_fault(job_ptr)))
			return -1;
		walk->looked_at++;
	}
	if (to->cluster)
		mlq_cluster_note(to->cluster, job_ptr,
				 mlq_request_of(job_ptr), walk->now);
	/* whether it is an ML job is looked at piece by piece */
	if (!job_ptr->spank_job_env_size || _too_long_ago(job_ptr, walk))
		return 0;
	if (walk->found < to->room)
		to->ids[walk->found] = job_ptr->job_id;
	walk->found++;
	return 0;
}

static uint64_t _lock(void)
{
	slurmctld_lock_t locks = {
		.conf = READ_LOCK, .job = READ_LOCK, .part = READ_LOCK};

	mlq_pause();
	lock_slurmctld(locks);
	return mlq_clock_us();
}

static void _unlock(mlq_snapshot_t *to, uint64_t began)
{
	slurmctld_lock_t locks = {
		.conf = READ_LOCK, .job = READ_LOCK, .part = READ_LOCK};
	uint64_t held = mlq_clock_us() - began;

	unlock_slurmctld(locks);
	if (held > to->hold_us)
		to->hold_us = held;
}

/* Room for so many jobs and a quarter more; no lock is held. */
static int _make_room(mlq_snapshot_t *to, size_t jobs)
{
	void *grown;

	if (jobs <= to->room)
		return 0;
	jobs += jobs / 4;
	if (!(grown = realloc(to->jobs, jobs * sizeof(*to->jobs))))
		return -1;
	to->jobs = grown;
	if (!(grown = realloc(to->ids, jobs * sizeof(*to->ids))))
		return -1;
	to->ids = grown;
	to->room = jobs;
	return 0;
}

/* A block into which the text of one more job fits; no lock is held. */
static int _make_text_room(mlq_snapshot_t *to)
{
	mlq_text_block_t *block = to->current;

	if (block && (BLOCK_TEXT - block->used >= JOB_TEXT_MAX))
		return 0;
	if (block ? !block->next : !to->first) {
		mlq_text_block_t *fresh = malloc(sizeof(*fresh));

		if (!fresh)
			return -1;
		/* no page fault under the locks */
		memset(fresh, 0, sizeof(*fresh));
		if (block)
			block->next = fresh;
		else
			to->first = fresh;
	}
	to->current = block ? block->next : to->first;
	to->current->used = 0;
	return 0;
}

static void _walk_piece(walk_t *walk, bool whole)
{
	mlq_snapshot_t *to = walk->snapshot;
	uint64_t began = _lock();
	size_t piece;

	if ((walk->stopped = mlq_stopping())) {
		_unlock(to, began);
		return;
	}
	piece = MAX(WALK_PIECE, list_count(job_list) / WALK_PIECES);
	walk->position = 0;
	walk->end = whole ? SIZE_MAX : walk->start + piece;
	walk->more = false;
	walk->moved = (walk->start > 0); /* until seen otherwise */
	list_for_each_ro(job_list, _note_id, walk);
	_unlock(to, began);
	walk->start = walk->end;
	if (walk->looked_at)
		to->layout_checked = true;
}

/*
 * All jobs that may be ML jobs. The walk goes on in another piece where the
 * last one ended, and starts again when jobs were purged meanwhile; the last
 * try is in one piece.
 */
static int _find_ids(walk_t *walk)
{
	mlq_snapshot_t *to = walk->snapshot;

	for (int tries = 1; tries <= MAX_TRIES; tries++) {
		walk->found = walk->start = 0;
		if (to->cluster)
			mlq_cluster_restart(to->cluster);
		do {
			_walk_piece(walk, tries == MAX_TRIES);
		} while (walk->more && !walk->moved && !walk->fault &&
			 !walk->stopped);
		if (walk->fault || walk->stopped)
			return -1;
		if (!walk->moved && (walk->found <= to->room))
			return 0;
		if (_make_room(to, walk->found))
			return -1;
	}
	walk->found = MIN(walk->found, to->room); /* the rest next time */
	return 0;
}

/* Copies the records of some ids; returns how many ids were dealt with. */
static size_t _copy_piece(walk_t *walk, const uint32_t *ids, size_t count)
{
	mlq_snapshot_t *to = walk->snapshot;
	mlq_text_block_t *block = to->current;
	uint64_t began = _lock();
	size_t done;

	walk->stopped = mlq_stopping();
	for (done = 0;
	     !walk->stopped && (done < count) && (done < PIECE_JOBS) &&
	     (BLOCK_TEXT - block->used >= JOB_TEXT_MAX);
	     done++) {
		job_record_t *job_ptr = find_job_record(ids[done]);
		const char *request;

		if (!job_ptr)
			continue;
		if ((walk->fault = mlq_layout_fault(job_ptr)))
			break;
		if (!job_ptr->details || !job_ptr->details->submit_time ||
		    !(request = mlq_request_of(job_ptr)))
			continue;
		_fill(job_ptr, request, walk->now, block,
		      &to->jobs[to->count++]);
		if (mlq_het_unseen(job_ptr, walk->now))
			to->het_unseen = job_ptr->job_id;
	}
	_unlock(to, began);
	return done;
}

static int _take(walk_t *walk)
{
	mlq_snapshot_t *to = walk->snapshot;

	if (_make_room(to, FIRST_JOBS) || _find_ids(walk))
		return -1;
	to->current = NULL;
	for (size_t done = 0; done < walk->found;) {
		if (_make_text_room(to))
			return -1;
		done += _copy_piece(walk, to->ids + done, walk->found - done);
		if (walk->fault || walk->stopped)
			return -1;
	}
	return 0;
}

extern int mlq_snapshot_take(mlq_snapshot_t *to, time_t now, int ended_s)
{
	walk_t walk = {.snapshot = to, .now = now, .ended_s = ended_s};

	to->hold_us = to->count = to->het_unseen = 0;
	if (!to->layout_bad && !_take(&walk))
		return 0;
	if (walk.fault) {
		to->layout_bad = true;
		error("%s: job records are not laid out as in Slurm %s with "
		      "which this was built (%s): passive",
		      plugin_type, SLURM_VERSION_STRING, walk.fault);
	}
	to->count = 0;
	return -1;
}

extern void mlq_snapshot_free(mlq_snapshot_t *snapshot)
{
	for (mlq_text_block_t *at = snapshot->first, *next; at; at = next) {
		next = at->next;
		free(at);
	}
	free(snapshot->jobs);
	free(snapshot->ids);
	memset(snapshot, 0, sizeof(*snapshot));
}
