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

__extension__ typedef unsigned __int128 wide_t;

int mlq_batch_split_weighed(uint64_t batch, const mlq_weighed_rank_t *rank, uint64_t *size, uint64_t *offset)
{
	uint64_t each = batch >= rank->ranks, spare = batch - each * rank->ranks, start, end;

	if (rank->index >= rank->ranks || !rank->weight || rank->before > rank->total ||
	    rank->weight > rank->total - rank->before)
		return -1;
	start = (uint64_t)((wide_t)spare * rank->before / rank->total);
	end = (uint64_t)((wide_t)spare * (rank->before + rank->weight) / rank->total);
	*size = each + end - start;
	*offset = each * rank->index + start;
	return 0;
}
