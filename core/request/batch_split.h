/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits a global batch over ranks at launch: equally, or by what is known of their speeds. */
#ifndef MLQ_BATCH_SPLIT_H
#define MLQ_BATCH_SPLIT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Samples [*offset, *offset + *size) of the global batch belong to rank (0 <= rank < ranks). The sizes differ
 * by one at most, larger first, and sum to batch exactly. Returns 0, or -1 if rank is not below ranks
 * (nothing is set then).
 */
int mlq_batch_split(uint64_t batch, uint32_t ranks, uint32_t rank, uint64_t *size, uint64_t *offset);

/* A rank among all, in any order that every rank takes alike. */
typedef struct {
	uint32_t ranks, index; /* index < ranks: those before it */
	uint64_t before;       /* sum of the weights of those */
	uint64_t weight;       /* > 0, its own */
	uint64_t total;	       /* of all, >= before + weight */
} mlq_weighed_rank_t;

/*
 * The same in proportion to whole weights: every rank gets one sample (where there are as many), the others
 * go by cuts of the running sum of weights, so that all sum to batch exactly on whatever machine they are
 * computed. Within one sample of the exact proportion of what is left after the first one each. Returns 0, or
 * -1 if the numbers contradict each other.
 */
int mlq_batch_split_weighed(uint64_t batch, const mlq_weighed_rank_t *rank, uint64_t *size, uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif
