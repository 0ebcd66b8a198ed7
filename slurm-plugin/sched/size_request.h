/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a pending job asks for, and whether another size may be put there. */
#ifndef MLQ_SCHED_SIZE_REQUEST_H
#define MLQ_SCHED_SIZE_REQUEST_H

#include "slurm-plugin/compat.h"
#include "slurm-plugin/engine/engine.h"

/* Of a pending job with details; needs the job read lock. */
extern void mlq_size_request(job_record_t *job_ptr, mlq_size_request_t *out);

#endif
