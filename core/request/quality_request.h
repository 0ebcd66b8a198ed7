/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a user asked for with --ml-quality[=key=value,...] or ML_QUALITY=.
 * Plain C, no allocation, no locale, no globals: it runs in sbatch, slurmstepd and slurmctld on hostile text.
 */
#ifndef MLQ_QUALITY_REQUEST_H
#define MLQ_QUALITY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MLQ_REQUEST_MAX 1024 /* bytes of the whole option, NUL included */
#define MLQ_FAMILY_MAX 64    /* bytes, NUL included; [A-Za-z0-9._+-] */
#define MLQ_REQUEST_ERROR_MAX 256

/* Upper bounds. Units times cores per unit fits 32 bits; the other two are exact as a double. */
#define MLQ_UNITS_MAX 1000000
#define MLQ_CORES_PER_UNIT_MAX 4096
#define MLQ_ITERATIONS_MAX 1000000000000000
#define MLQ_BATCH_MAX 1000000000000
#define MLQ_JOB_ID_MAX 4294967293 /* above are Slurm's NO_VAL and INFINITE */

typedef enum { MLQ_GOAL_MIN, MLQ_GOAL_MAX } mlq_goal_t;
typedef enum { MLQ_UNIT_CORE, MLQ_UNIT_GPU, MLQ_UNIT_NODE, MLQ_UNIT_CORES } mlq_unit_t;
typedef enum { MLQ_RESIZE_NONE, MLQ_RESIZE_COMPANION, MLQ_RESIZE_REQUEUE } mlq_resize_t;
typedef enum { MLQ_TARGET_NONE, MLQ_TARGET_LOSS, MLQ_TARGET_FRACTION } mlq_target_kind_t;

typedef struct {
	bool off; /* "off": an ordinary job */
	mlq_goal_t goal;
	mlq_target_kind_t target_kind;
	double target;	    /* a loss, or a fraction in (0, 1] of the reachable reduction */
	uint32_t min_units; /* 0 = not given */
	uint32_t max_units; /* 0 = not given; >= min_units when both are */
	mlq_unit_t unit;
	uint32_t cores_per_unit;     /* for MLQ_UNIT_CORES, else 1 */
	uint64_t iterations;	     /* 0 = not given */
	uint64_t batch;		     /* global batch in samples, 0 = not given */
	char family[MLQ_FAMILY_MAX]; /* "" = same user and job name */
	mlq_resize_t resize;
	uint32_t companion; /* id of the job whose companion this one says it is, 0 = none */
} mlq_request_t;

/*
 * Parses text: key=value pairs between commas, no spaces; a key may be repeated with the same value only. "",
 * NULL and the word "on" give the defaults; "on", "off" and companion=JOBID stand alone. Real numbers are
 * decimal with a point in any locale: no hexadecimal, infinity or NaN, nothing that overflows or underflows.
 * Returns 0, or -1 with a message in error that names the key, what was given (in printable characters) and
 * what is allowed; *out is then the defaults. error may be NULL.
 */
int mlq_request_parse(const char *text, mlq_request_t *out, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
