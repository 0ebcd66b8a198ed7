/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the cycle needs of the plugin that it is part of. */
#ifndef MLQ_SCHED_SHIM_H
#define MLQ_SCHED_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#include "slurm-plugin/compat.h"

/* Of the plugin; begins every line of the log. */
extern const char plugin_type[];

/*
 * Sets a pending job's site factor (NICE_OFFSET included) so that its priority
 * shows it at once. Needs the job write lock. Must not wait for any other lock.
 */
extern void mlq_set_site_factor(job_record_t *job_ptr, uint32_t site_factor);

/*
 * The plugin or slurmctld is about to end. Asked anew behind every lock: then
 * nothing may be read or written any more.
 */
extern bool mlq_stopping(void);

#endif
