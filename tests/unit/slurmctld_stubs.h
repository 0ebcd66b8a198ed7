/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A slurmctld of a test: a table of jobs, locks that are counted, and a
 * database that remembers what it was told. */
#ifndef MLQ_TEST_SLURMCTLD_STUBS_H
#define MLQ_TEST_SLURMCTLD_STUBS_H

#include "slurm-plugin/compat.h"

#define STUB_JOBS 4096

typedef struct {
	int count;
	uint32_t job_id;
	uint32_t exit_code;
	uint32_t derived_ec;
	time_t end_time;
	uint32_t job_state;
	char admin_comment[2048];
	bool had_comment;
	bool had_tres;
} stub_end_t;

extern stub_end_t stub_end;	/* the last end of a job that was sent */
extern int stub_errors;		/* lines of error() */
extern int stub_prios;		/* calls of set_job_prio() */
extern int stub_locks;		/* times a lock was taken */
extern bool stub_with_dbd;
extern int stub_stop_at;	/* the plugin is to end behind so many locks */
extern int stub_purge_at;	/* the first job is purged before so many locks */

extern int stub_updates;	/* calls of update_job() */
extern job_desc_msg_t stub_update; /* the last one's */
extern uid_t stub_update_uid;
extern int stub_update_rc;	/* what it returns */

extern void stub_reset(void);

/* Stands for a pending job's list of so many partitions. */
extern List stub_partitions(int count);

#define STUB_NODES 256
#define STUB_PARTS 4

extern int stub_signals;	/* calls of job_signal() */
extern uint16_t stub_signal;	/* the last one's */
extern uint16_t stub_signal_flags;
extern uint32_t stub_signalled;	/* job id */

extern int stub_saves;		/* calls of schedule_job_save() */
extern int stub_requeues;	/* calls of job_requeue() */
extern int stub_requeue_rc;	/* what it returns */
extern uint32_t stub_requeued;	/* the last one's job */
extern uid_t stub_requeue_uid;
extern int stub_warnings;	/* calls of send_job_warn_signal() */

/* Makes the job the leader, and the other one the second component of the one
 * heterogeneous job that there is. */
extern void stub_het(job_record_t *leader, job_record_t *second);

/* A list of steps: one of that number. */
extern List stub_step(uint32_t step_id);

typedef struct {
	int count; /* first: list_count() looks there */
	void *entries[4];
} stub_list_t;

/* A copy of it, for as long as the test lasts; at most 32. */
extern List stub_list(const stub_list_t *list);
extern bool stub_is_list(List l);
extern int stub_walk_list(List l, ListForF f, void *arg);
extern void stub_lists_reset(void);

/* Nodes of so many CPUs in partition 0, which is made; all take work. */
extern void stub_add_nodes(int count, uint16_t cpus);
extern node_record_t *stub_node(int index);
extern part_record_t *stub_part(int index);

/* A bitmap over all nodes with these in it, -1 after the last. */
extern bitstr_t *stub_bits(const int *nodes);

/* The job runs on these nodes, -1 after the last, with so many CPUs on each. */
extern void stub_run(job_record_t *job_ptr, const int *nodes, uint16_t cpus);

/* A pending job with details; env is the value of --ml-quality or NULL. */
extern job_record_t *stub_add(uint32_t job_id, const char *request);

#endif
