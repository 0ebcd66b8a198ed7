/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many GPUs a pending job asks for, and how another number is put there. */
#ifndef MLQ_SCHED_GPU_REQUEST_H
#define MLQ_SCHED_GPU_REQUEST_H

#include "slurm-plugin/compat.h"
#include "slurm-plugin/engine/engine.h"

/* Fills in what is said of GPUs; why no other number may be put there, NULL
 * when one may. Needs the job read lock. */
extern const char *mlq_gpus_asked(job_record_t *job_ptr,
				  mlq_size_request_t *out);

/* Before an update of a job that was just found to ask for `of`: the same with
 * `gpus`. All of it belongs to the caller. */
extern void mlq_gpus_ask(job_record_t *job_ptr, mlq_gpus_of_t of, uint32_t gpus,
			 job_desc_msg_t *desc);

/* After it, whatever came of it. */
extern void mlq_gpus_ask_done(job_record_t *job_ptr, job_desc_msg_t *desc);

/* What sbatch would put into the environment, "a:4"; to be freed by xfree(). */
extern char *mlq_gpus_variable(job_record_t *job_ptr, mlq_gpus_of_t of,
			       uint32_t gpus);

/* "gres:gpu:a:4" with another number; to be freed by xfree(). */
extern char *mlq_gpus_text(const char *text, uint32_t gpus);

#endif
