/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/client/mlq.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "tools/client/sender.h"

#define EXIT_FLUSH_S 2.0
#define EXIT_GRACE_S 0.2 /* for the thread to let go after the flush */
#define FULL_CHECK                                                                                 \
	1024 /* a producer looks every so many reports whether the thread must be woken */

/* The handle of a process that has nothing to report to; never written. */
static struct mlq_job nobody;

/* One job a process. The lock is held while the process forks, and never for long. */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mlq_job *registered;
static struct mlq_job *kept; /* of the parent before a fork, or of a process at its exit: others may
				still use them */
static unsigned references;
static bool hooks_set, curl_ready;

/* Under the lock. */
static void keep_registered(void)
{
	if (registered) {
		registered->kept = kept;
		kept = registered;
	}
	registered = NULL;
}

static void before_fork(void)
{
	pthread_mutex_lock(&registry_lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&registry_lock);
}

/* The child has no thread: its inherited handle does nothing and is never freed; mlq_attach() makes
 * it another. */
static void after_fork_child(void)
{
	if (registered)
		atomic_store(&registered->active, false);
	keep_registered();
	references = 0;
	pthread_mutex_unlock(&registry_lock);
}

static void deadline_after(struct timespec *out, double seconds)
{
	double at = mlq_monotonic() + seconds;

	out->tv_sec = (time_t)at;
	out->tv_nsec = (long)(1e9 * (at - (double)out->tv_sec));
}

/* Sends what is left, at most EXIT_FLUSH_S. False when the thread is still at work after that. */
static bool stop_thread(struct mlq_job *job)
{
	struct timespec deadline;
	bool finished;

	atomic_store(&job->active, false);
	atomic_store(&job->stop_at_ns, (int64_t)(1e9 * (mlq_monotonic() + EXIT_FLUSH_S)));
	atomic_store(&job->stop, true);
	curl_multi_wakeup(job->multi);

	deadline_after(&deadline, EXIT_FLUSH_S + EXIT_GRACE_S);
	pthread_mutex_lock(&job->lock);
	while (!job->finished && pthread_cond_timedwait(&job->progress, &job->lock, &deadline) == 0)
		;
	finished = job->finished;
	pthread_mutex_unlock(&job->lock);
	if (finished)
		pthread_join(job->thread, NULL);
	return finished;
}

static void at_exit(void)
{
	struct mlq_job *job;

	pthread_mutex_lock(&registry_lock);
	job = registered;
	keep_registered();
	pthread_mutex_unlock(&registry_lock);
	if (job)
		stop_thread(job);
}

static void free_job(struct mlq_job *job)
{
	curl_multi_cleanup(job->multi);
	pthread_cond_destroy(&job->progress);
	pthread_mutex_destroy(&job->lock);
	free(job);
}

static void make_stream(char out[MLQ_STREAM_SIZE])
{
	uint64_t bits[2];
	struct timespec now;

	if (getrandom(bits, sizeof(bits), GRND_NONBLOCK) != (ssize_t)sizeof(bits)) {
		clock_gettime(CLOCK_REALTIME, &now);
		bits[0] = (uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec;
		bits[1] = (uint64_t)getpid() << 32 | (uint64_t)(uintptr_t)&now >> 4;
	}
	snprintf(out, MLQ_STREAM_SIZE, "%016llx%016llx", (unsigned long long)bits[0],
		 (unsigned long long)bits[1]);
}

/* Handlers run in the training's own threads; faults keep their meaning. */
static int start_thread(struct mlq_job *job)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	sigset_t blocked, before;
	int failed;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	failed = pthread_create(&job->thread, NULL, mlq_sender_main, job);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!failed)
		pthread_setname_np(job->thread, "mlq");
	return failed;
}

static struct mlq_job *make_job(const mlq_settings_t *settings)
{
	/* aligned as the ring wants it; sizeof is a multiple of the alignment */
	struct mlq_job *job = aligned_alloc(_Alignof(struct mlq_job), sizeof(*job));
	pthread_condattr_t attributes;

	if (!job)
		return NULL;
	memset(job, 0, sizeof(*job));
	job->settings = *settings;
	atomic_store(&job->active, true);
	make_stream(job->stream);
	mlq_ring_init(&job->ring);
	pthread_mutex_init(&job->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&job->progress, &attributes);
	pthread_condattr_destroy(&attributes);
	job->multi = curl_multi_init();
	if (!job->multi || start_thread(job)) {
		free_job(job);
		return NULL;
	}
	return job;
}

/* Once: libcurl first, for handlers run in the reverse order and its own must come after ours. */
static bool set_hooks(void)
{
	if (!curl_ready)
		curl_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
	if (curl_ready && !hooks_set)
		hooks_set = pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0 &&
			    atexit(at_exit) == 0;
	return curl_ready && hooks_set;
}

mlq_job *mlq_attach(void)
{
	mlq_settings_t settings;
	struct mlq_job *job;

	pthread_mutex_lock(&registry_lock);
	if (!registered && mlq_settings_read(&settings)) {
		registered = set_hooks() ? make_job(&settings) : NULL;
		references = 0;
		if (!registered)
			mlq_note(&settings, "no memory or no thread, nothing is reported");
	}
	job = registered;
	references++;
	pthread_mutex_unlock(&registry_lock);
	return job ? job : &nobody;
}

void mlq_report(mlq_job *job, double iteration, double loss)
{
	struct timespec now;
	mlq_point_t point = {.iteration = iteration, .loss = loss};
	uint64_t position;
	unsigned given_up;

	if (!job || !atomic_load_explicit(&job->active, memory_order_relaxed) ||
	    atomic_load_explicit(&job->denied, memory_order_relaxed) || !isfinite(iteration))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	point.time = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
	atomic_fetch_add_explicit(&job->reported, 1, memory_order_relaxed);
	given_up = mlq_ring_push(&job->ring, &point, &position);
	if (given_up)
		atomic_fetch_add_explicit(&job->thinned, given_up, memory_order_relaxed);
	if (position % FULL_CHECK == 0 && mlq_ring_fill(&job->ring) > MLQ_RING_SIZE / 2)
		curl_multi_wakeup(job->multi);
}

int mlq_active(const mlq_job *job)
{
	return job && atomic_load(&job->active) && !atomic_load(&job->denied);
}

static uint64_t settled(const mlq_job *job)
{
	return atomic_load(&job->sent) + atomic_load(&job->thinned) + atomic_load(&job->refused);
}

/* One more reference, unless the handle is not, or no longer, that of this process's job: it may be
 * freed then and is not looked into. */
static bool hold(const mlq_job *job)
{
	bool held;

	pthread_mutex_lock(&registry_lock);
	held = job && job == registered;
	if (held)
		references++;
	pthread_mutex_unlock(&registry_lock);
	return held;
}

static int flush_held(mlq_job *job, double timeout_s)
{
	uint64_t target, refused;
	struct timespec deadline;

	if (!mlq_active(job))
		return atomic_load(&job->denied) || atomic_load(&job->refused) ? -1 : 0;
	target = atomic_load(&job->reported);
	refused = atomic_load(&job->refused);
	deadline_after(&deadline, timeout_s > 0 ? (timeout_s < 1e6 ? timeout_s : 1e6) : 0);
	atomic_fetch_add(&job->hurry, 1);
	curl_multi_wakeup(job->multi);

	pthread_mutex_lock(&job->lock);
	while (settled(job) < target && !job->finished && !atomic_load(&job->denied)) {
		if (pthread_cond_timedwait(&job->progress, &job->lock, &deadline))
			break;
	}
	pthread_mutex_unlock(&job->lock);
	return settled(job) >= target && atomic_load(&job->refused) == refused ? 0 : -1;
}

int mlq_flush(mlq_job *job, double timeout_s)
{
	int result = 0;

	if (hold(job)) { /* another thread may detach meanwhile */
		result = flush_held(job, timeout_s);
		mlq_detach(job);
	}
	return result;
}

void mlq_get_counters(const mlq_job *job, mlq_counters *out)
{
	*out = (mlq_counters){0};
	if (!job)
		return;
	/* what is acknowledged first, so that it never exceeds what was reported */
	out->sent = atomic_load(&job->sent);
	out->thinned = atomic_load(&job->thinned);
	out->refused = atomic_load(&job->refused);
	out->reported = atomic_load(&job->reported);
}

void mlq_detach(mlq_job *job)
{
	bool last;

	pthread_mutex_lock(&registry_lock);
	last = job && job == registered && references > 0 && --references == 0;
	if (last)
		registered = NULL;
	pthread_mutex_unlock(&registry_lock);
	if (!last)
		return;
	if (stop_thread(job))
		free_job(job);
	else
		pthread_detach(job->thread);
}

const char *mlq_version(void)
{
	return PACKAGE_VERSION;
}
