/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each piece of work under the job write lock has in common. */
#ifndef MLQ_SCHED_HOLD_H
#define MLQ_SCHED_HOLD_H

#include <stdint.h>
#include <time.h>

#include "slurm-plugin/compat.h"
#include "slurm-plugin/engine/engine.h"

/* The record that was decided about, if it is still that run of that job. */
static inline job_record_t *mlq_find_job(uint32_t job_id, time_t submit_time,
					 uint32_t restarts)
{
	job_record_t *job_ptr = find_job_record(job_id);

	if (!job_ptr || (job_ptr->magic != JOB_MAGIC) || !job_ptr->details ||
	    (job_ptr->details->submit_time != submit_time) ||
	    (job_ptr->restart_cnt != restarts))
		return NULL;
	return job_ptr;
}

/* A write lock was held so many microseconds. */
static inline void mlq_count_write_hold(mlq_cycle_stats_t *stats, uint64_t held)
{
	stats->write_holds++;
	stats->write_hold_sum_us += held;
	if (held > stats->write_hold_max_us)
		stats->write_hold_max_us = held;
}

#endif
