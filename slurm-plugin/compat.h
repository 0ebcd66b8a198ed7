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
#include "src/common/job_state_reason.h"
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

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
typedef struct job_details job_details_t;
#endif

/* renamed in the middle of two series: 24.11.7 and 25.05.1 */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 1) ||                     \
	(SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 7) &&               \
	 SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 5, 0))
#define MLQ_PRIORITIES prio_mult
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
#define MLQ_PRIORITIES part_prio
#endif

/*
 * The priorities of a pending job in each of its partitions, since 24.11 for
 * each QOS as well; NULL when it has none yet or needs one only. What is unused
 * of them is 0.
 */
static inline uint32_t *mlq_partition_priorities(job_record_t *job_ptr,
						 int *count)
{
	uint32_t *each = NULL;

#ifdef MLQ_PRIORITIES
	if (job_ptr->MLQ_PRIORITIES)
		each = job_ptr->MLQ_PRIORITIES->priority_array;
#else
	each = job_ptr->priority_array;
#endif
	*count = each ? xsize(each) / sizeof(*each) : 0;
	return each;
}

/* The job that a change is for. */
static inline void mlq_desc_set_job(job_desc_msg_t *desc, uint32_t job_id)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	desc->step_id.job_id = job_id;
#else
	desc->job_id = job_id;
#endif
}

/* Whether Slurm takes no change yet: before 24.11 until slurmdbd knows the job. */
static inline bool mlq_too_early(int rc)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
	(void)rc;
	return false;
#else
	return rc == ESLURM_JOB_SETTING_DB_INX;
#endif
}

/* What squeue shows as the reason; static storage. */
static inline const char *mlq_reason_name(uint32_t reason)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
	return job_state_reason_string(reason);
#else
	return job_reason_string(reason);
#endif
}

/* As its user would requeue it. */
static inline int mlq_requeue_job(job_record_t *job_ptr)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	return job_requeue_internal(job_ptr->user_id, job_ptr, false, 0);
#else
	return job_requeue(job_ptr->user_id, job_ptr->job_id, NULL, false, 0);
#endif
}

#endif
