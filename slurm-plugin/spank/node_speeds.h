/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Node speeds that mlqd has learnt. srun asks for them once a step and puts
 * them into the step's environment, which Slurm hands to every node alike; so
 * all nodes compute the same split, whatever any of them could have found out.
 */
#ifndef MLQ_SPANK_NODE_SPEEDS_H
#define MLQ_SPANK_NODE_SPEEDS_H

#include <stddef.h>
#include <stdint.h>

/* "node=weight,node=weight,...": speeds relative to each other. */
#define NODE_SPEEDS "MLQ_NODE_SPEEDS"
#define NODE_SPEEDS_MAX 65536 /* bytes, NUL included */
#define NODE_WEIGHT_MAX 1000000
#define NODE_WEIGHT_MIDDLE 10000 /* of the median node, and of unknown ones */

/*
 * What mlqd answers (a line "node samples/s" each) as the value of
 * NODE_SPEEDS, for the nodes of a list as Slurm writes it. Returns 0, or -1
 * when nothing of it is known or it does not fit.
 */
extern int node_speeds_format(const char *answer, const char *nodelist,
			      char *out, size_t size);

/* This node's part of a step. */
typedef struct {
	uint64_t before; /* weights of the ranks on earlier nodes */
	uint64_t weight; /* of each rank here */
	uint64_t total;	 /* of all ranks; 0 = no speeds, split equally */
	uint32_t first;	 /* ranks on earlier nodes */
	uint32_t here;	 /* ranks on this node */
	uint32_t ranks;
} node_part_t;

/*
 * From texts that are the same on every node of the step: NODE_SPEEDS, the
 * list of its nodes and "2(x3),1", their tasks. All of them come from a user.
 * part->total is 0 if any is missing or they contradict each other.
 */
extern void node_speeds_part(const char *speeds, const char *nodelist,
			     const char *tasks_per_node, uint32_t ranks,
			     uint32_t node, node_part_t *part);

#endif
