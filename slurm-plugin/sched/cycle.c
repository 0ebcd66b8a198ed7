/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_timedjoin_np() */
#endif

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/sched/apply.h"
#include "slurm-plugin/sched/clock.h"
#include "slurm-plugin/sched/cluster.h"
#include "slurm-plugin/sched/cycle.h"
#include "slurm-plugin/sched/endings.h"
#include "slurm-plugin/sched/mode_names.h"
#include "slurm-plugin/sched/node_shrink.h"
#include "slurm-plugin/sched/requeue.h"
#include "slurm-plugin/sched/resize.h"
#include "slurm-plugin/sched/shim.h"
#include "slurm-plugin/sched/snapshot.h"

#define ENDED_MAX_S 300 /* ended jobs are looked after so long */
#define LONG_HOLD_US 5000
#define SAY_AGAIN_US 60000000ULL
#define STOP_S 5

/* What the thread, reconfigure and fini share. */
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t shared_cond;
static pthread_t thread_id;
static bool running = false;
static bool abandoned = false; /* a thread that did not end in time */
static bool stopping = false;
static atomic_bool stop_told = false; /* the same, read without the mutex */
static bool config_changed = false;
static mlq_engine_t *engine = NULL;

/* Of the thread alone. */
typedef struct {
	mlq_config_t config;
	char *params;
	char cluster[256];
	bool multifactor;
	int ended_s;
	bool idle; /* off or passive: nothing until reconfigured */
	mlq_snapshot_t snapshot;
	mlq_cluster_t *capacity; /* made when it is first wanted */
	uint64_t said_us;
} ranker_t;

static void _log(mlq_log_level_t level, const char *line)
{
	switch (level) {
	case MLQ_LOG_ERROR:
		error("%s: %s", plugin_type, line);
		break;
	case MLQ_LOG_INFO:
		info("%s: %s", plugin_type, line);
		break;
	case MLQ_LOG_VERBOSE:
		verbose("%s: %s", plugin_type, line);
		break;
	case MLQ_LOG_DEBUG:
		debug("%s: %s", plugin_type, line);
		break;
	}
}

/* Ended jobs must still be in slurmctld's memory when their last text comes. */
static int _ended_s(uint32_t min_job_age)
{
	uint32_t most = min_job_age - min_job_age / 4;

	if (!min_job_age || (most > ENDED_MAX_S))
		return ENDED_MAX_S;
	return most;
}

/* True when SchedulerParameters are other than those in use. */
static bool _load_config(ranker_t *ranker)
{
	slurmctld_lock_t conf_lock = {.conf = READ_LOCK};
	const char *now;
	bool changed;

	lock_slurmctld(conf_lock);
	now = slurm_conf.sched_params ? slurm_conf.sched_params : "";
	if ((changed = !ranker->params || strcmp(ranker->params, now))) {
		free(ranker->params);
		ranker->params = strdup(now);
	}
	snprintf(ranker->cluster, sizeof(ranker->cluster), "%s",
		 slurm_conf.cluster_name ? slurm_conf.cluster_name : "");
	ranker->ended_s = _ended_s(slurm_conf.min_job_age);
	ranker->multifactor =
		!xstrcmp(slurm_conf.priority_type, "priority/multifactor");
	unlock_slurmctld(conf_lock);
	return changed;
}

static void _say_config(const ranker_t *ranker)
{
	const mlq_config_t *config = &ranker->config;

	info("%s: version=%s slurm=%s mode=%s interval=%u weight=%u "
	     "horizon=%u timeout_ms=%u resize=%s lead=%u dwell=%u tail=%g "
	     "url=%s",
	     plugin_type, MLQ_VERSION, SLURM_VERSION_STRING,
	     mlq_mode_name(config->mode), config->interval_s, config->weight,
	     config->horizon_s, config->timeout_ms,
	     mlq_resize_name(config->resize), config->lead_s, config->dwell_s,
	     config->tail, config->url);
	if (!ranker->multifactor && (config->mode != MLQ_MODE_OFF))
		error("%s: PriorityType is not "
		      "priority/multifactor: site factors have no effect",
		      plugin_type);
}

static void _configure(ranker_t *ranker)
{
	if (!_load_config(ranker) && engine)
		return;
	mlq_config_parse(ranker->params, &ranker->config, NULL);
	_say_config(ranker); /* who speaks, before what is wrong */
	mlq_config_parse(ranker->params, &ranker->config, _log);
	if (engine) {
		ranker->idle = mlq_engine_passive(engine) ||
			       ranker->snapshot.layout_bad;
		mlq_engine_configure(engine, &ranker->config);
		return;
	}
	pthread_mutex_lock(&shared_lock);
	if (!stopping)
		engine = mlq_engine_create(ranker->cluster, &ranker->config,
					   _log);
	pthread_mutex_unlock(&shared_lock);
}

extern bool mlq_stopping(void)
{
	return atomic_load(&stop_told) || slurmctld_config.shutdown_time;
}

/* slurmctld is up, schedules, and is not on its way out. */
static bool _ready(void)
{
	return acct_db_conn && job_list &&
	       !slurmctld_config.scheduling_disabled &&
	       !slurmctld_config.shutdown_time;
}

static double _now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void _say(ranker_t *ranker, size_t decisions,
		 const mlq_cycle_stats_t *stats)
{
	uint64_t now = mlq_clock_us();
	bool loud = (stats->write_hold_max_us > LONG_HOLD_US) ||
		    (stats->read_hold_us > LONG_HOLD_US) ||
		    (now - ranker->said_us >= SAY_AGAIN_US);
	char line[256];

	snprintf(line, sizeof(line),
		 "cycle mode=%s jobs=%zu decisions=%zu applied=%u "
		 "read_hold_us=%" PRIu64
		 " write_holds=%u write_hold_max_us=%" PRIu64
		 " write_hold_sum_us=%" PRIu64,
		 mlq_mode_name(ranker->config.mode), ranker->snapshot.count,
		 decisions, stats->applied, stats->read_hold_us,
		 stats->write_holds, stats->write_hold_max_us,
		 stats->write_hold_sum_us);
	_log(loud ? MLQ_LOG_VERBOSE : MLQ_LOG_DEBUG, line);
	if (loud)
		ranker->said_us = now;
}

/* The cluster itself is looked at only while a job could be resized. */
static void _choose_cluster(ranker_t *ranker)
{
	bool wanted = mlq_engine_wants_cluster(engine);

	if (wanted && !ranker->capacity)
		ranker->capacity = mlq_cluster_create();
	ranker->snapshot.cluster = wanted ? ranker->capacity : NULL;
}

static void _decide(ranker_t *ranker, mlq_cycle_stats_t *stats, size_t *count)
{
	mlq_snapshot_t *snapshot = &ranker->snapshot;
	const mlq_cluster_snapshot_t *cluster = NULL;
	const mlq_decision_t *decisions = NULL;
	const mlq_ending_t *endings = NULL;
	size_t ending_count;

	if (snapshot->cluster)
		cluster = mlq_cluster_take(snapshot->cluster,
					   &snapshot->hold_us);
	stats->read_hold_us = snapshot->hold_us;
	mlq_engine_see_cluster(engine, cluster);
	if (mlq_engine_decide(engine, _now(), snapshot->jobs, snapshot->count,
			      &decisions, count))
		return;
	mlq_apply(snapshot, decisions, *count, stats);
	ending_count = mlq_engine_endings(engine, &endings);
	mlq_end(endings, ending_count, stats);
	mlq_apply_sizes(engine, stats);
	mlq_apply_requeues(engine, stats);
	if (ranker->config.mode == MLQ_MODE_ACTIVE)
		mlq_wake_backfill(snapshot->het_unseen, stats);
	mlq_apply_node_shrinks(engine, stats);
}

static void _cycle(ranker_t *ranker)
{
	mlq_cycle_stats_t stats = {0};
	size_t count = 0;

	mlq_engine_pull(engine, _now());
	_choose_cluster(ranker);
	if (mlq_snapshot_take(&ranker->snapshot, time(NULL), ranker->ended_s)) {
		ranker->idle = ranker->snapshot.layout_bad;
		return;
	}
	_decide(ranker, &stats, &count);
	mlq_engine_push(engine, _now(), &stats);
	_say(ranker, count, &stats);

	if (mlq_engine_passive(engine)) {
		mlq_apply_nothing(&ranker->snapshot, &stats);
		ranker->idle = true;
	} else if (ranker->config.mode == MLQ_MODE_OFF) {
		/* what had been set is taken back now; companions of earlier
		 * are looked after until they are gone */
		ranker->idle = !mlq_engine_is_needed(engine);
	}
}

/* Sleeps until the next cycle is due; false when it is time to end. */
static bool _wait(uint32_t seconds, bool *reconfigure)
{
	struct timespec until;
	bool go_on;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&shared_lock);
	while (!stopping && !config_changed &&
	       !pthread_cond_timedwait(&shared_cond, &shared_lock, &until))
		;
	go_on = !stopping;
	*reconfigure = config_changed;
	config_changed = false;
	pthread_mutex_unlock(&shared_lock);
	return go_on;
}

static void *_ranker_thread(void *arg)
{
	ranker_t *ranker = arg;
	bool reconfigure = false;

	prctl(PR_SET_NAME, "mlq_rank", NULL, NULL, NULL);
	_configure(ranker);
	while (_wait(ranker->config.interval_s, &reconfigure)) {
		if (reconfigure)
			_configure(ranker);
		if (engine && !ranker->idle && _ready())
			_cycle(ranker);
	}
	mlq_snapshot_free(&ranker->snapshot);
	mlq_cluster_free(ranker->capacity);
	free(ranker->params);
	free(ranker);
	return NULL;
}

/* Signals are for slurmctld's own threads, and for none that libcurl makes. */
static int _create_thread(ranker_t *ranker)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread_id, NULL, _ranker_thread, ranker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

extern int mlq_cycle_start(void)
{
	pthread_condattr_t attr;
	ranker_t *ranker;
	int rc;

	if (abandoned)
		error("%s: a thread of before did not end: jobs are not ranked",
		      plugin_type);
	if (running || abandoned || !(ranker = calloc(1, sizeof(*ranker))))
		return -1;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&shared_cond, &attr);
	pthread_condattr_destroy(&attr);
	stopping = false;
	atomic_store(&stop_told, false);
	config_changed = false;
	if ((rc = _create_thread(ranker))) {
		error("%s: no thread: %s; jobs are not ranked", plugin_type,
		      strerror(rc));
		pthread_cond_destroy(&shared_cond);
		free(ranker);
		return -1;
	}
	running = true;
	return 0;
}

extern void mlq_cycle_reconfigure(void)
{
	if (!running)
		return;
	pthread_mutex_lock(&shared_lock);
	config_changed = true;
	pthread_cond_signal(&shared_cond);
	pthread_mutex_unlock(&shared_lock);
}

/*
 * slurmctld may hold a lock of its own around fini() that another of its
 * threads waits for, which in turn holds the lock that the ranker waits for.
 * So the wait has an end. A ranker that comes too late finds mlq_stopping()
 * behind every lock that it gets, and touches nothing; the code stays mapped
 * (-z nodelete).
 */
static bool _joined(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_S;
	return !pthread_timedjoin_np(thread_id, NULL, &until);
}

extern void mlq_cycle_stop(void)
{
	if (!running)
		return;
	pthread_mutex_lock(&shared_lock);
	stopping = true;
	atomic_store(&stop_told, true);
	if (engine)
		mlq_engine_stop(engine);
	pthread_cond_signal(&shared_cond);
	pthread_mutex_unlock(&shared_lock);
	running = false;
	if (!_joined()) {
		error("%s: the ranking thread still waits for a lock after "
		      "%d s: left to itself",
		      plugin_type, STOP_S);
		pthread_detach(thread_id);
		abandoned = true;
		return;
	}
	mlq_engine_destroy(engine);
	engine = NULL;
	pthread_cond_destroy(&shared_cond);
}
