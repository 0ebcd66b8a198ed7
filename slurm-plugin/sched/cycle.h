/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that ranks: pull, snapshot, decide, apply, push. */
#ifndef MLQ_SCHED_CYCLE_H
#define MLQ_SCHED_CYCLE_H

/* 0, or -1 when no thread could be made. Never waits for a Slurm lock. */
extern int mlq_cycle_start(void);

/* New SchedulerParameters are taken before the next cycle. */
extern void mlq_cycle_reconfigure(void);

/*
 * Ends the thread. Waits for a request to mlqd at most a second, and for a
 * Slurm lock that the thread may be waiting for at most five.
 */
extern void mlq_cycle_stop(void);

#endif
