/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MLQ_TEST_SCHED_H
#define MLQ_TEST_SCHED_H

#include <check.h>

#include "slurm-plugin/sched/snapshot.h"

#define NOW 1790001000

extern mlq_snapshot_t snapshot;

extern void sched_setup(void);
extern void sched_teardown(void);

/* Takes the snapshot, which must have so many jobs. */
extern void sched_take(size_t expected);

extern TCase *snapshot_cases(void);
extern TCase *apply_cases(void);
extern TCase *shift_cases(void);
extern TCase *resize_cases(void);
extern TCase *requeue_cases(void);
extern TCase *node_cases(void);
extern TCase *cluster_cases(void);
extern TCase *gpu_cases(void);
extern TCase *ending_cases(void);

#endif
