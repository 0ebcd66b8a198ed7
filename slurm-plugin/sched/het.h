/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heterogeneous jobs: records of their own for each component, and a leader,
 * the first one, that has the batch script and the list of all of them. Slurm
 * requeues all of them together, through the leader.
 */
#ifndef MLQ_SCHED_HET_H
#define MLQ_SCHED_HET_H

#include <stdbool.h>
#include <stdint.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/engine/engine.h"

/* Room for a variable's name with a component's number behind it. */
#define MLQ_HET_NAME_MAX 64

/* The record with the list; the job itself when it is not part of a
 * heterogeneous one; NULL when the record is not there or not sound. Needs the
 * job read lock, as all of these do. */
extern job_record_t *mlq_het_leader(job_record_t *job_ptr);

/* Of each component, or of the one job that it is: whether all of them are so. */
typedef bool (*mlq_component_fn)(job_record_t *job_ptr, void *arg);
extern bool mlq_het_all(job_record_t *leader, mlq_component_fn is_so,
			void *arg);

/* Slurm may requeue it, and with it whatever it is requeued together with. */
extern bool mlq_het_requeueable(job_record_t *job_ptr);

/* Whether Slurm may requeue it, which component it is, and the CPUs of all of
 * them: allocated ones, or those that are asked for. out is zeroed before. */
extern void mlq_het_fill(job_record_t *job_ptr, mlq_job_snapshot_t *out);

/*
 * Backfill alone starts heterogeneous jobs, and looks only when a job, a node
 * or a partition has changed. That a requeued one has become eligible is no
 * change: on a quiet cluster it would wait for ever. True when all components
 * are eligible and no job has changed since the last of them came to be so.
 */
extern bool mlq_het_unseen(job_record_t *job_ptr, time_t now);

/* What Slurm calls the variable for this component. */
extern const char *mlq_het_variable(const job_record_t *job_ptr,
				    const char *name,
				    char text[MLQ_HET_NAME_MAX]);

#endif
