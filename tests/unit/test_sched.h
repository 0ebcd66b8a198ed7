/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MLQ_TEST_SCHED_H
#define MLQ_TEST_SCHED_H

#include <check.h>

#include "slurm-plugin/sched/snapshot.h"

#define NOW 1790001000

extern mlq_snapshot_t snapshot;

extern void sched_setup(void);
extern void sched_teardown(void);

/* The same for tests of nodes and waiting jobs. */
extern void sched_cluster_setup(void);
extern void sched_cluster_teardown(void);

/* Takes both; the second walk counts for nodes that the first one got to know. */
extern const mlq_cluster_snapshot_t *sched_cluster_take(void);
extern uint64_t cluster_hold_us;

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
extern TCase *gpu_request_cases(void);
extern TCase *ending_cases(void);

#endif
