/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libmlq: a training tells Slurm how its loss goes.
 *
 *     mlq_job *job = mlq_attach();              // never NULL; silent no-op outside an ML job
 *     for (i = 0; i < n; i++)
 *         mlq_report(job, i, loss);             // under a microsecond, never blocks
 *     mlq_detach(job);                          // flushes, at most two seconds
 *
 * mlq_report() may be called from any thread and from a signal handler. After fork() the child's
 * handle is a silent no-op; a child that trains itself calls mlq_attach() again. Link with -lmlq
 * (pkg-config mlq).
 */
#ifndef MLQ_H
#define MLQ_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MLQ_API __attribute__((visibility("default")))
#else
#define MLQ_API
#endif

typedef struct mlq_job mlq_job;

typedef struct {
	uint64_t reported; /* calls of mlq_report() */
	uint64_t sent;	   /* acknowledged by mlqd */
	uint64_t thinned;  /* given up to make room for newer ones */
	uint64_t refused;  /* mlqd said no for good */
} mlq_counters;

/*
 * Reads MLQ_URL and MLQ_TOKEN, which the SPANK plugin sets. Idempotent in a process; counted.
 * One process reports for the job: of a parallel training the one whose rank is 0, as the first of
 * MLQ_RANK, RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK and SLURM_PROCID that is set says.
 * MLQ_CORES, if set, is the number of cores given with each report. With MLQ_DEBUG set, one line on
 * stderr says why nothing is reported.
 */
MLQ_API mlq_job *mlq_attach(void);

/* iteration: any finite number that grows; loss: NaN or infinity says that the training diverged.
 */
MLQ_API void mlq_report(mlq_job *job, double iteration, double loss);

/* 1 when reports go to an mlqd, 0 when calls do nothing, as while mlqd refuses the job (401, 403). */
MLQ_API int mlq_active(const mlq_job *job);

/*
 * Waits until everything reported so far is acknowledged (or thinned), or timeout_s passed. 0, or
 * -1 when time ran out or mlqd refused something. 0 at once where nothing is reported. Another
 * thread may detach meanwhile.
 */
MLQ_API int mlq_flush(mlq_job *job, double timeout_s);

MLQ_API void mlq_get_counters(const mlq_job *job, mlq_counters *out);

/* Flushes within a bound and frees. A process that just exits flushes too (atexit). */
MLQ_API void mlq_detach(mlq_job *job);

MLQ_API const char *mlq_version(void);

#ifdef __cplusplus
}
#endif

#endif
