/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MLQ_SPANK_CORES_H
#define MLQ_SPANK_CORES_H

#include <stdint.h>

/*
 * Sum of a list as SLURM_JOB_CPUS_PER_NODE has it, "8(x2),4" being 20. The text
 * is user-controlled. Returns 0 if it is anything else or the sum overflows.
 */
extern uint32_t cores_sum(const char *cpus_per_node);

#endif
