/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/sched/attempt.h"
#include "slurm-plugin/sched/clock.h"
#include "slurm-plugin/sched/hold.h"
#include "slurm-plugin/sched/shim.h"

static const slurmctld_lock_t attempt_locks = {.conf = READ_LOCK,
					       .job = WRITE_LOCK,
					       .node = WRITE_LOCK,
					       .part = READ_LOCK,
					       .fed = READ_LOCK};

extern int mlq_attempt(mlq_attempt_fn attempt, void *arg,
		       mlq_cycle_stats_t *stats)
{
	int rc = MLQ_NOT_TRIED;
	uint64_t began, held;

	mlq_pause();
	lock_slurmctld(attempt_locks);
	began = mlq_clock_us();
	if (!mlq_stopping())
		rc = attempt(arg);
	held = mlq_clock_us() - began;
	unlock_slurmctld(attempt_locks);

	mlq_count_write_hold(stats, held);
	return rc;
}

extern void mlq_attempt_done(mlq_cycle_stats_t *stats)
{
	schedule_job_save();
	schedule_node_save();
	stats->applied++;
}

extern const char *mlq_attempt_error(int rc)
{
	return (rc == SLURM_SUCCESS) ? NULL : slurm_strerror(rc);
}
