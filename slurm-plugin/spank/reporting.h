/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job needs to report: mlqd's address and its token. */
#ifndef MLQ_SPANK_REPORTING_H
#define MLQ_SPANK_REPORTING_H

#include <slurm/spank.h>
#include <stdint.h>

#include "core/token/job_token.h"

/* What a step finds in its environment; "" where there is nothing. */
typedef struct {
	char cluster[MLQ_CLUSTER_MAX];
	char token[MLQ_TOKEN_MAX];
} inherited_t;

/* What a step inside the job has from the batch script around it. */
extern void reporting_inherit(spank_t sp, uint32_t job_id, uint32_t step_id,
			      inherited_t *inherited);

/*
 * Sets the address, the cluster's name and the token: the inherited one, for it
 * is this job's, or a new one. Failures are logged, once.
 */
extern void reporting_set(spank_t sp, uint32_t job_id,
			  const inherited_t *inherited, int ac, char **av);

#endif
