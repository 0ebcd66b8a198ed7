/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "slurm-plugin/sched/layout.h"

#define OPTION_ENV "_SLURM_SPANK_OPTION_ml_quality_ml_quality="
#define MAX_SPANK_ENV 65536
#define MAX_STATE_BASE 32
#define EARLIEST_TIME 946684800 /* 2000-01-01 */

static bool _plausible_pointer(const void *pointer)
{
	uintptr_t value = (uintptr_t)pointer;

	return !pointer || ((value > 65536) && !(value % sizeof(void *)));
}

extern const char *mlq_layout_fault(job_record_t *job_ptr)
{
	if (!_plausible_pointer(job_ptr) || !job_ptr)
		return "a job's address";
	if (job_ptr->magic != JOB_MAGIC)
		return "JOB_MAGIC";
	/* no dereference yet: the id must lead back to the same record */
	if (!job_ptr->job_id || find_job_record(job_ptr->job_id) != job_ptr)
		return "job_id";
	if ((job_ptr->job_state & JOB_STATE_BASE) >= MAX_STATE_BASE)
		return "job_state";
	if (!_plausible_pointer(job_ptr->details))
		return "details";
	if (job_ptr->details && (job_ptr->details->magic != DETAILS_MAGIC))
		return "DETAILS_MAGIC";
	if (job_ptr->details && job_ptr->details->submit_time &&
	    (job_ptr->details->submit_time < EARLIEST_TIME))
		return "submit_time";
	if (!_plausible_pointer(job_ptr->part_ptr))
		return "part_ptr";
	if (job_ptr->part_ptr && (job_ptr->part_ptr->magic != PART_MAGIC))
		return "PART_MAGIC";
	if (!_plausible_pointer(job_ptr->job_resrcs))
		return "job_resrcs";
	if (!_plausible_pointer(job_ptr->node_bitmap))
		return "node_bitmap";
	if (!_plausible_pointer(job_ptr->spank_job_env) ||
	    (job_ptr->spank_job_env_size > MAX_SPANK_ENV) ||
	    (job_ptr->spank_job_env_size && !job_ptr->spank_job_env))
		return "spank_job_env";
	return NULL;
}

extern const char *mlq_request_of(job_record_t *job_ptr)
{
	const size_t prefix = sizeof(OPTION_ENV) - 1;

	for (uint32_t i = 0; i < job_ptr->spank_job_env_size; i++) {
		const char *entry = job_ptr->spank_job_env[i];

		if (entry && !strncmp(entry, OPTION_ENV, prefix))
			return entry + prefix;
	}
	return NULL;
}
