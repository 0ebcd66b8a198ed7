/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/request/batch_split.h"

int mlq_batch_split(uint64_t batch, uint32_t ranks, uint32_t rank, uint64_t *size, uint64_t *offset)
{
	uint64_t share, rest;

	if (rank >= ranks)
		return -1;
	share = batch / ranks;
	rest = batch % ranks;
	*size = share + (rank < rest);
	*offset = share * rank + (rank < rest ? rank : rest);
	return 0;
}
