/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * site_factor/ml_quality: the ranking of sched/ml_quality for clusters that
 * keep SchedulerType=sched/backfill, which heterogeneous jobs need.
 *
 * The callbacks do nothing: what the ranking thread decided is in the job's
 * record, from where priority/multifactor takes it.
 */
#include "slurm-plugin/compat.h"
#include "slurm-plugin/sched/cycle.h"
#include "slurm-plugin/sched/shim.h"
#include "slurm-plugin/site_factor/priority_shift.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT const char plugin_name[] = "Slurm ML quality site factor plugin";
EXPORT const char plugin_type[] = "site_factor/ml_quality";
EXPORT const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/*
 * Not set_job_prio(): it takes the lock of the site_factor plugins, under
 * which fini() runs and waits for the thread that would call it.
 */
extern void mlq_set_site_factor(job_record_t *job_ptr, uint32_t site_factor)
{
	mlq_shift_priority(job_ptr, site_factor);
}

EXPORT extern int init(void)
{
	/* a priority factor asked for after fini() loads the plugin again */
	if (slurmctld_config.shutdown_time)
		return SLURM_SUCCESS;
	if (!xstrcmp(slurm_conf.schedtype, "sched/ml_quality")) {
		error("%s: SchedulerType is sched/ml_quality, which ranks the "
		      "jobs: this plugin does nothing; configure one of them",
		      plugin_type);
		return SLURM_SUCCESS;
	}
	mlq_cycle_start(); /* without the thread no job is ranked */
	return SLURM_SUCCESS;
}

/* Runs under the lock of the site_factor plugins: see mlq_cycle_stop(). */
EXPORT extern void fini(void)
{
	mlq_cycle_stop();
}

EXPORT extern void site_factor_p_set(job_record_t *job_ptr)
{
	(void)job_ptr;
}

EXPORT extern void site_factor_p_update(void)
{
}

#if MLQ_SITE_FACTOR_RECONFIG
EXPORT extern void site_factor_p_reconfig(void)
{
	mlq_cycle_reconfigure();
}
#endif
