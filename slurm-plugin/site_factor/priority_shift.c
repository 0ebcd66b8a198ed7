/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/site_factor/priority_shift.h"

static uint32_t _shifted(uint32_t priority, int64_t by)
{
	int64_t sum = (int64_t)priority + by;

	if (!priority) /* held, or not computed yet */
		return 0;
	if (sum < 1)
		return 1;
	return MIN(sum, UINT32_MAX);
}

extern void mlq_shift_priority(job_record_t *job_ptr, uint32_t site_factor)
{
	int64_t by = (int64_t)site_factor - job_ptr->site_factor;
	uint32_t *each;
	int count;

	job_ptr->site_factor = site_factor;
	job_ptr->priority = _shifted(job_ptr->priority, by);
	if (job_ptr->prio_factors) /* what sprio shows */
		job_ptr->prio_factors->priority_site = site_factor;
	each = mlq_partition_priorities(job_ptr, &count);
	for (int i = 0; each && (i < count); i++)
		each[i] = _shifted(each[i], by);
}
