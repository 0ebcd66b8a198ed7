/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/sched/clock.h"
#include "slurm-plugin/sched/layout.h"
#include "slurm-plugin/sched/snapshot.h"

#define OPTION_ENV "_SLURM_SPANK_OPTION_ml_quality_ml_quality="
#define REQUEST_MAX 1024 /* longer ones are refused at submission */
#define NAME_MAX_COPY 1024
#define COMMENT_MAX_COPY 8192
#define FIRST_JOBS 256
#define FIRST_TEXT (256 * 1024)
#define LAYOUT_SAMPLE 64 /* records looked at before the first use */
#define MAX_TRIES 3

typedef struct {
	mlq_snapshot_t *snapshot;
	time_t now;
	int ended_s;
	uint32_t looked_at;
	size_t jobs_needed;
	size_t text_needed;
	const char *fault;
	uint32_t fault_job;
} walk_t;

/* Copies text when it fits, and counts what would be needed when not. */
static const char *_copy(walk_t *walk, const char *text, size_t max)
{
	mlq_snapshot_t *to = walk->snapshot;
	size_t size;
	char *at;

	if (!text)
		return NULL;
	size = strnlen(text, max) + 1;
	walk->text_needed += size;
	if (walk->text_needed > to->text_room)
		return NULL;
	at = to->text + to->text_used;
	memcpy(at, text, size - 1);
	at[size - 1] = '\0';
	to->text_used += size;
	return at;
}

static const char *_request_of(job_record_t *job_ptr)
{
	const size_t prefix = sizeof(OPTION_ENV) - 1;

	for (uint32_t i = 0; i < job_ptr->spank_job_env_size; i++) {
		const char *entry = job_ptr->spank_job_env[i];

		if (entry && !strncmp(entry, OPTION_ENV, prefix))
			return entry + prefix;
	}
	return NULL;
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
	if (!job->cores || (job->cores >= NO_VAL))
		job->cores = 1;
}

static void _fill(job_record_t *job_ptr, const char *request, walk_t *walk,
		  mlq_job_snapshot_t *job)
{
	memset(job, 0, sizeof(*job));
	job->job_id = job_ptr->job_id;
	job->user_id = job_ptr->user_id;
	job->restarts = job_ptr->restart_cnt;
	job->array_job_id = job_ptr->array_job_id;
	job->state = _state_of(job_ptr);
	_fill_times(job_ptr, walk->now, job);
	_fill_size(job_ptr, job);
	job->not_ranked = _why_not_ranked(job_ptr);
	job->rankable = !job->not_ranked;
	if (job_ptr->site_factor > NICE_OFFSET)
		job->site_factor = job_ptr->site_factor - NICE_OFFSET;
	job->user = _copy(walk, job_ptr->user_name, NAME_MAX_COPY);
	job->account = _copy(walk, job_ptr->account, NAME_MAX_COPY);
	job->partition = _copy(walk, job_ptr->partition, NAME_MAX_COPY);
	job->name = _copy(walk, job_ptr->name, NAME_MAX_COPY);
	job->request = _copy(walk, request, REQUEST_MAX);
	job->admin_comment =
		_copy(walk, job_ptr->admin_comment, COMMENT_MAX_COPY);
	if (job->state == MLQ_JOB_ENDED) /* static storage */
		job->end_state =
			job_state_string(job_ptr->job_state & JOB_STATE_BASE);
}

static bool _too_long_ago(job_record_t *job_ptr, const walk_t *walk)
{
	return IS_JOB_FINISHED(job_ptr) &&
	       (job_ptr->end_time + walk->ended_s < walk->now);
}

static int _foreach_job(void *x, void *arg)
{
	job_record_t *job_ptr = x;
	walk_t *walk = arg;
	mlq_snapshot_t *to = walk->snapshot;
	const char *request;

	if (!to->layout_checked && (walk->looked_at < LAYOUT_SAMPLE)) {
		if ((walk->fault = mlq_layout_fault(job_ptr)))
			return -1;
		walk->looked_at++;
	}
	if (!job_ptr->spank_job_env_size || !(request = _request_of(job_ptr)) ||
	    _too_long_ago(job_ptr, walk))
		return 0;
	if ((walk->fault = mlq_layout_fault(job_ptr)))
		return -1;
	if (!job_ptr->details || !job_ptr->details->submit_time)
		return 0;
	if (++walk->jobs_needed > to->job_room)
		return 0;
	_fill(job_ptr, request, walk, &to->jobs[to->count++]);
	return 0;
}

static bool _complete(const walk_t *walk)
{
	return (walk->jobs_needed <= walk->snapshot->job_room) &&
	       (walk->text_needed <= walk->snapshot->text_room);
}

/* Room for what the last walk needed and a quarter more; no lock is held. */
static int _make_room(mlq_snapshot_t *to, size_t jobs, size_t text)
{
	void *grown;

	if (jobs > to->job_room) {
		jobs += jobs / 4;
		if (!(grown = realloc(to->jobs, jobs * sizeof(*to->jobs))))
			return -1;
		to->jobs = grown;
		to->job_room = jobs;
	}
	if (text > to->text_room) {
		text += text / 4;
		if (!(grown = realloc(to->text, text)))
			return -1;
		memset(grown, 0, text); /* no page fault under the locks */
		to->text = grown;
		to->text_room = text;
	}
	return 0;
}

static void _walk_jobs(walk_t *walk)
{
	slurmctld_lock_t locks = {
		.conf = READ_LOCK, .job = READ_LOCK, .part = READ_LOCK};
	mlq_snapshot_t *to = walk->snapshot;
	uint64_t began, held;

	to->count = 0;
	to->text_used = 0;
	lock_slurmctld(locks);
	began = mlq_clock_us();
	if (job_list)
		list_for_each_ro(job_list, _foreach_job, walk);
	held = mlq_clock_us() - began;
	unlock_slurmctld(locks);
	if (held > to->hold_us)
		to->hold_us = held;
}

extern int mlq_snapshot_take(mlq_snapshot_t *to, time_t now, int ended_s)
{
	size_t jobs = FIRST_JOBS, text = FIRST_TEXT;

	to->hold_us = 0;
	for (int tries = 0; !to->layout_bad && (tries < MAX_TRIES); tries++) {
		walk_t walk = {.snapshot = to, .now = now, .ended_s = ended_s};

		if (_make_room(to, jobs, text))
			break;
		_walk_jobs(&walk);
		if (walk.fault) {
			to->layout_bad = true;
			error("sched/ml_quality: job records are not laid out "
			      "as in Slurm %s with which this was built (%s): "
			      "passive",
			      SLURM_VERSION_STRING, walk.fault);
			break;
		}
		if (walk.looked_at)
			to->layout_checked = true;
		if (_complete(&walk))
			return 0;
		jobs = walk.jobs_needed;
		text = walk.text_needed;
	}
	to->count = 0;
	return -1;
}

extern void mlq_snapshot_free(mlq_snapshot_t *snapshot)
{
	free(snapshot->jobs);
	free(snapshot->text);
	memset(snapshot, 0, sizeof(*snapshot));
}
