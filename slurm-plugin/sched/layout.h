/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record layout other than the one this was built against would kill
 * slurmctld at the first job. The loader compares version numbers; this looks
 * at the records themselves before they are trusted.
 */
#ifndef MLQ_SCHED_LAYOUT_H
#define MLQ_SCHED_LAYOUT_H

#include "slurm-plugin/compat.h"

/* NULL when the record looks right, else what is wrong with it. Needs the job
 * and part read locks. Reads no pointer before what stands around it fits. */
extern const char *mlq_layout_fault(job_record_t *job_ptr);

/* Value of --ml-quality, NULL when it was not given; needs the job read lock. */
extern const char *mlq_request_of(job_record_t *job_ptr);

#endif
