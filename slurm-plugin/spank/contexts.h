/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is done in each SPANK context; spank_ml_quality.c alone calls these. */
#ifndef MLQ_SPANK_CONTEXTS_H
#define MLQ_SPANK_CONTEXTS_H

#include <slurm/spank.h>

/* sbatch, salloc, scrontab: forget what an enclosing job left behind. */
extern void allocator_init(void);

/* srun: the same, unless it starts a step of the job it runs in. */
extern void srun_init(void);

/*
 * srun, after the allocation and before the launch: what mlqd knows of the
 * nodes' speeds goes into the step's environment. Takes 200 ms at most.
 */
extern void srun_before_launch(void);

/* slurmd at its start: tell the admin at once what is wrong on this node. */
extern void slurmd_init(int ac, char **av);

/*
 * slurmstepd as root, before privileges are dropped: the reporting address and
 * the job's token go into the job's environment. Failures are logged, once.
 */
extern void remote_post_opt(spank_t sp, int ac, char **av);

/* slurmstepd as the user, once per task: the rank's share of the batch. */
extern void remote_task_init(spank_t sp);

#endif
