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

#include "slurm-plugin/engine/node_shrink.h"
#include "slurm-plugin/engine/requeue.h"
#include "slurm-plugin/engine/size.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlq_engine mlq_engine_t;

typedef enum { MLQ_MODE_OFF, MLQ_MODE_DRY_RUN, MLQ_MODE_ACTIVE } mlq_mode_t;
typedef enum { MLQ_RESIZING_OFF, MLQ_RESIZING_COMPANION, MLQ_RESIZING_REQUEUE, MLQ_RESIZING_ALL } mlq_resize_mode_t;
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
	mlq_resize_mode_t resize; /* mlq_resize=off|companion|requeue|all, default companion */
	uint32_t lead_s;          /* mlq_lead, 1..3600, default 30 */
	uint32_t dwell_s;         /* mlq_dwell, 0..86400, default 60 */
	uint32_t requeue_grace_s; /* mlq_requeue_grace, 1..86400, default 300 */
	bool sizing;              /* mlq_sizing=on|off, default on */
	double tail;              /* mlq_tail, 0..100, default 0.4 */
	char resize_partitions[512]; /* mlq_resize_partitions=a+b, "" = all */
	char resize_accounts[512];   /* mlq_resize_accounts=a+b, "" = all */
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
	uint32_t array_task_id;     /* of an array; MLQ_NO_TASK and above = its record stands for several tasks */
	uint32_t het_job_id;        /* leader of the heterogeneous job that it is a component of, 0 = none */
	uint32_t het_offset;        /* which component, from 0 */
	uint32_t het_cores;         /* of all components together, as `cores`; 0 = not known */
	int64_t submit_time;
	int64_t start_time;         /* 0 = not started */
	int64_t end_time;           /* 0 = not ended */
	int64_t suspended_s;        /* seconds of suspension since the start */
	mlq_job_state_t state;
	uint32_t cores;             /* allocated, or the least it will get when it starts */
	uint32_t nodes;
	mlq_size_request_t size;    /* of a job that has not ended */
	bool requeue;               /* Slurm may requeue it */
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
	const char *features;       /* that its nodes must have; NULL or "": none */
	uint32_t node;              /* index of its first node, MLQ_NO_NODE while it has none */
	uint32_t gpus;              /* allocated */
	bool mixed_gpus;            /* it asks for GPUs of more than one type */
	const char *gpu_type;       /* that it asks for; NULL or "": none in particular */
} mlq_job_snapshot_t;

#define MLQ_NO_NODE UINT32_MAX
#define MLQ_NO_TASK (UINT32_MAX - 1) /* Slurm's NO_VAL */
#define MLQ_GPU_TYPES_MAX 16

/* A node; its index is Slurm's. CPUs are what Slurm allocates. */
typedef struct {
	uint32_t cpus;
	uint32_t idle;         /* that no job has; 0 when the node takes no work now */
	uint32_t node_class;   /* index into classes */
	uint64_t partitions;   /* bit p: it is in partitions[p] */
	uint16_t gpus[MLQ_GPU_TYPES_MAX]; /* that no job has, by type; 0 when the node takes no work now */
} mlq_node_snapshot_t;

/* Nodes of equal CPUs, features and generic resources. */
typedef struct {
	uint32_t cpus;
	bool gres;             /* they have generic resources */
	const char *features;  /* a,b,c; may be NULL */
	uint32_t gpu_types;    /* bit t: they have GPUs of gpu_types[t] */
} mlq_class_snapshot_t;

/* A pending job that waits for nothing but its turn and its resources. No companion is among them. */
typedef struct {
	uint32_t job_id;
	uint32_t priority;
	int64_t submit_time;
	uint64_t partitions;   /* bit p: may run in partitions[p] */
	uint32_t cpus;         /* at least */
	uint32_t nodes;        /* at least */
	uint32_t max_nodes;    /* 0 = any number */
	uint32_t cpus_per_task; /* 0 = 1 */
	uint32_t cpus_per_node; /* at least; 0 = any number */
	bool whole_nodes;
	bool gres;             /* asks for generic resources */
	uint32_t gpus;         /* at least; 0: none */
	uint32_t gpus_per_node; /* 0: however they come */
	uint32_t cpus_per_gpu; /* at least */
	uint32_t gpu_types;    /* bit t: gpu_types[t] will do */
	const char *features;
	const unsigned char *nodes_allowed; /* one byte a node, NULL = all: those that it may run on */
	const unsigned char *nodes_required; /* one byte a node, NULL = none: those that it must run on */
} mlq_waiting_snapshot_t;

#define MLQ_PARTITIONS_MAX 64
#define MLQ_CLASSES_MAX 64

typedef struct {
	const mlq_node_snapshot_t *nodes;
	size_t node_count;
	const mlq_class_snapshot_t *classes;
	size_t class_count;
	const char *const *partitions; /* names */
	size_t partition_count;
	const mlq_waiting_snapshot_t *waiting; /* by falling priority */
	size_t waiting_count;
	const char *const *gpu_types; /* names; "" = GPUs without a type */
	size_t gpu_type_count;
} mlq_cluster_snapshot_t;

typedef struct {
	size_t index;               /* of the job in the snapshot */
	uint32_t job_id;
	uint32_t restarts;
	int64_t submit_time;
	bool set_site_factor;
	uint32_t site_factor;       /* 0..weight, without NICE_OFFSET */
	bool save;                  /* admin_comment is to survive slurmctld from now on */
	const char *admin_comment;  /* NULL = leave as it is; valid until the next mlq_engine_decide() */
} mlq_decision_t;

typedef enum { MLQ_END_ORPHAN, MLQ_END_OVERSTAYED } mlq_ending_kind_t;

/* A companion that must end. The caller looks again whether it still is what the engine took it for. */
typedef struct {
	mlq_ending_kind_t kind;
	uint32_t job_id;
	uint32_t restarts;
	uint32_t user_id;
	int64_t submit_time;
	uint32_t parent_id;         /* whose companion it says it is */
	bool kill;                  /* SIGKILL, else SIGTERM */
	const char *reason;         /* valid until the next mlq_engine_decide() */
} mlq_ending_t;

/* How the last cycle held Slurm's locks, in microseconds; reported to mlqd. */
typedef struct {
	uint64_t read_hold_us;
	uint64_t write_hold_max_us;
	uint64_t write_hold_sum_us;
	uint32_t write_holds;
	uint32_t applied;
	uint32_t endings;           /* companions that were ended */
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

/*
 * Before mlq_engine_decide(): what the cluster has, NULL when that is not known. Without it no job is given a
 * size. The memory is read by the next mlq_engine_decide() and not kept.
 */
void mlq_engine_see_cluster(mlq_engine_t *engine, const mlq_cluster_snapshot_t *cluster);

/* After mlq_engine_decide(): whether a cluster snapshot is worth taking in the next cycle. */
bool mlq_engine_wants_cluster(const mlq_engine_t *engine);

/* After mlq_engine_decide(): whether companions or requeues under way must be looked after in any mode. */
bool mlq_engine_is_needed(const mlq_engine_t *engine);

/* Companions to end, found by the last mlq_engine_decide(); they belong to the engine as decisions do. */
size_t mlq_engine_endings(mlq_engine_t *engine, const mlq_ending_t **endings);

/*
 * Pending jobs that are to ask for another size, found by the last mlq_engine_decide(); they belong to the engine
 * as decisions do. What came of each is told by mlq_engine_size_done(): error is Slurm's, NULL when it was done.
 */
size_t mlq_engine_sizings(mlq_engine_t *engine, const mlq_sizing_t **sizings);
void mlq_engine_size_done(mlq_engine_t *engine, double now, uint32_t job_id, int64_t submit_time, const char *error);

/*
 * Jobs to be told to save, and to be requeued, found by the last mlq_engine_decide(); they belong to the engine as
 * decisions do. What came of each is told by mlq_engine_requeue_done(): error is Slurm's, NULL when it was done.
 */
size_t mlq_engine_requeues(mlq_engine_t *engine, const mlq_requeue_t **requeues);
void mlq_engine_requeue_done(mlq_engine_t *engine, double now, const mlq_requeue_t *requeue, const char *error);

/* Nodes that agents have left, as for requeues; nodes that are not the job's (any more) count as done. */
size_t mlq_engine_node_shrinks(mlq_engine_t *engine, const mlq_node_shrink_t **shrinks);
void mlq_engine_node_shrink_done(mlq_engine_t *engine, double now, const mlq_node_shrink_t *shrink, const char *error);

/* Tells mlqd what was seen and decided. 0 or -1 as for pull. */
int mlq_engine_push(mlq_engine_t *engine, double now, const mlq_cycle_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
