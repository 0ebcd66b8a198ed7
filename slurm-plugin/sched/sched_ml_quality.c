/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sched/ml_quality: stock sched/backfill, started inside, and beside it a
 * thread that ranks pending ML jobs by predicted quality gain per core.
 */
#include "slurm-plugin/compat.h"
#include "slurm-plugin/sched/cycle.h"
#include "slurm-plugin/sched/shim.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT const char plugin_name[] = "Slurm ML quality scheduler plugin";
EXPORT const char plugin_type[] = "sched/ml_quality";
EXPORT const uint32_t plugin_version = SLURM_VERSION_NUMBER;

typedef struct {
	int (*reconfig)(void);
} backfill_ops_t;

static const char *backfill_syms[] = {"sched_p_reconfig"};
static backfill_ops_t backfill_ops;
static plugin_context_t *backfill = NULL;

extern void mlq_set_site_factor(job_record_t *job_ptr, uint32_t site_factor)
{
	job_ptr->site_factor = site_factor;
	set_job_prio(job_ptr);
}

EXPORT extern int init(void)
{
	if (backfill)
		return SLURM_SUCCESS;
	backfill = plugin_context_create("sched", "sched/backfill",
					 (void **)&backfill_ops, backfill_syms,
					 sizeof(backfill_syms));
	if (!backfill) {
		error("sched/ml_quality: sched/backfill cannot be loaded");
		return SLURM_ERROR;
	}
	/* without the thread Slurm schedules as under sched/backfill */
	mlq_cycle_start();
	return SLURM_SUCCESS;
}

EXPORT extern void fini(void)
{
	mlq_cycle_stop();
	if (backfill)
		plugin_context_destroy(backfill);
	backfill = NULL;
}

EXPORT extern int sched_p_reconfig(void)
{
	mlq_cycle_reconfigure();
	return backfill ? (*(backfill_ops.reconfig))() : SLURM_SUCCESS;
}
