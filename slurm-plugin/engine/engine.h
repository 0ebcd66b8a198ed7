/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine behind one C header: snapshot in, decisions out.
 *
 * No function throws, exits or takes a Slurm lock. mlq_engine_pull() and mlq_engine_push() talk to mlqd; the two
 * of a cycle together wait at most the configured time-out: never call them with a lock held. One thread at a
 * time per engine. After three caught exceptions an engine is passive: every call returns -1 at once.
 */
#ifndef MLQ_ENGINE_H
#define MLQ_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlq_engine mlq_engine_t;

typedef enum { MLQ_MODE_OFF, MLQ_MODE_DRY_RUN, MLQ_MODE_ACTIVE } mlq_mode_t;
typedef enum { MLQ_LOG_ERROR, MLQ_LOG_INFO, MLQ_LOG_VERBOSE, MLQ_LOG_DEBUG } mlq_log_level_t;
typedef void (*mlq_log_fn)(mlq_log_level_t level, const char *line);

#define MLQ_ADMIN_COMMENT_MAX 1024

/* From SchedulerParameters; every key starts with mlq_. */
typedef struct {
	mlq_mode_t mode;          /* mlq_mode=active|dry-run|off, default active */
	uint32_t interval_s;      /* mlq_interval, 1..3600, default 3 */
	uint32_t weight;          /* mlq_weight, 0..1000000, default 10000 */
	uint32_t horizon_s;       /* mlq_horizon, 1..86400, default 60 */
	uint32_t timeout_ms;      /* mlq_timeout, 10..60000, default 1000 */
	char url[256];            /* mlq_url=unix:/path|http://host:port|https://..., default unix:/run/mlqd/mlqd.sock */
	char key_file[256];       /* mlq_key=/path, needed only with an http URL */
} mlq_config_t;

/* Exact tokens; a wrong value or an unknown mlq_ key is one log line and the default, never a failure. */
void mlq_config_parse(const char *scheduler_parameters, mlq_config_t *out, mlq_log_fn log);

typedef enum { MLQ_JOB_PENDING, MLQ_JOB_RUNNING, MLQ_JOB_SUSPENDED, MLQ_JOB_ENDED } mlq_job_state_t;

/* One ML job as slurmctld sees it. Strings belong to the caller and may be NULL. Times are seconds since the epoch. */
typedef struct {
	uint32_t job_id;
	uint32_t user_id;
	uint32_t restarts;
	uint32_t array_job_id;      /* 0 = no array */
	int64_t submit_time;
	int64_t start_time;         /* 0 = not started */
	int64_t end_time;           /* 0 = not ended */
	int64_t suspended_s;        /* seconds of suspension since the start */
	mlq_job_state_t state;
	uint32_t cores;             /* allocated, or the least it will get when it starts */
	uint32_t nodes;
	bool rankable;              /* pending, and its priority is Slurm's to compute */
	const char *not_ranked;     /* why it is not rankable though pending, e.g. "held"; static storage */
	uint32_t site_factor;       /* as it is now, without NICE_OFFSET, 0 if none */
	const char *user;
	const char *account;
	const char *partition;
	const char *name;
	const char *end_state;      /* Slurm's name of the state, e.g. COMPLETED */
	const char *request;        /* value of --ml-quality */
	const char *admin_comment;
} mlq_job_snapshot_t;

typedef struct {
	size_t index;               /* of the job in the snapshot */
	uint32_t job_id;
	uint32_t restarts;
	int64_t submit_time;
	bool set_site_factor;
	uint32_t site_factor;       /* 0..weight, without NICE_OFFSET */
	const char *admin_comment;  /* NULL = leave as it is; valid until the next mlq_engine_decide() */
} mlq_decision_t;

/* How the last cycle held Slurm's locks, in microseconds; reported to mlqd. */
typedef struct {
	uint64_t read_hold_us;
	uint64_t write_hold_max_us;
	uint64_t write_hold_sum_us;
	uint32_t write_holds;
	uint32_t applied;
} mlq_cycle_stats_t;

/* cluster: Slurm's ClusterName. NULL on failure (one log line). */
mlq_engine_t *mlq_engine_create(const char *cluster, const mlq_config_t *config, mlq_log_fn log);
void mlq_engine_configure(mlq_engine_t *engine, const mlq_config_t *config);
void mlq_engine_destroy(mlq_engine_t *engine);

/* From any thread: the request under way and later ones end within a second, without a result. */
void mlq_engine_stop(mlq_engine_t *engine);

/* True once three exceptions were caught: nothing will come from this engine any more. */
bool mlq_engine_passive(const mlq_engine_t *engine);

/* Takes what was reported since the last call. 0, or -1 when mlqd did not answer in time (the last data stay). */
int mlq_engine_pull(mlq_engine_t *engine, double now);

/*
 * Ranks. decisions belong to the engine and stay valid until the next call. 0, or -1 with no decisions.
 * In mode dry-run and off the only decisions are those that put back to 0 what an active engine had set.
 */
int mlq_engine_decide(mlq_engine_t *engine, double now, const mlq_job_snapshot_t *jobs, size_t count,
		      const mlq_decision_t **decisions, size_t *decision_count);

/* Tells mlqd what was seen and decided. 0 or -1 as for pull. */
int mlq_engine_push(mlq_engine_t *engine, double now, const mlq_cycle_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
