/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that differs between Slurm 22.05 and 26.05, and nothing else.
 * Included first by every shim that reads slurmctld's records.
 */
#ifndef MLQ_COMPAT_H
#define MLQ_COMPAT_H

#include "config.h" /* of the Slurm tree: layouts depend on it */

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "Slurm 22.05 or later is needed"
#endif

#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/plugin.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#include "src/interfaces/accounting_storage.h"
#include "src/interfaces/gres.h"
#else
#include "src/common/gres.h"
#include "src/common/slurm_accounting_storage.h"
#endif

#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmctld/state_save.h"

/* since 24.05 the record of a job has a header of its own */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
#include "src/common/job_record.h"
#endif

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#include "src/interfaces/priority.h"
#include "src/interfaces/site_factor.h"
#else
#include "src/common/site_factor.h"
#include "src/common/slurm_priority.h"
#endif

/* since 24.05 site_factor plugins are loaded anew by a reconfigure */
#define MLQ_SITE_FACTOR_RECONFIG                                               \
	(SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 5, 0))

/*
 * The priorities of a pending job in each of its partitions, NULL when it has
 * none yet or names one partition only.
 */
static inline uint32_t *mlq_partition_priorities(job_record_t *job_ptr,
						 int *count)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
	/* one for each partition and QOS that the job may have */
	*count = 1;
	if (job_ptr->part_ptr_list)
		*count *= list_count(job_ptr->part_ptr_list);
	if (job_ptr->qos_list)
		*count *= list_count(job_ptr->qos_list);
	return job_ptr->part_prio ? job_ptr->part_prio->priority_array : NULL;
#else
	*count = 0;
	if (!job_ptr->part_ptr_list || !job_ptr->priority_array)
		return NULL;
	*count = list_count(job_ptr->part_ptr_list);
	return job_ptr->priority_array;
#endif
}

#endif
