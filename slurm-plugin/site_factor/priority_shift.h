/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MLQ_SITE_FACTOR_PRIORITY_SHIFT_H
#define MLQ_SITE_FACTOR_PRIORITY_SHIFT_H

#include <stdint.h>

#include "slurm-plugin/compat.h"

/*
 * Gives a pending job another site factor (NICE_OFFSET included) and moves its
 * priority, in each of its partitions, by the difference: what
 * priority/multifactor would make of it, for the site factor is one term of a
 * sum. Calls nothing that takes a lock. Needs the job write lock.
 *
 * A priority that was cut off at its bound (1 or 2^32 - 1) does not say what
 * the sum was: it may be off until priority/multifactor computes it next
 * (PriorityCalcPeriod). It is never 0, which would hold the job.
 */
extern void mlq_shift_priority(job_record_t *job_ptr, uint32_t site_factor);

#endif
