/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The equal split of a global batch over the ranks: where each job starts before any speed is known. */
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

#ifdef __cplusplus
}
#endif

#endif
