/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has not been acknowledged yet, oldest first, in bounded memory. When it is full, every
 * second point of its older half goes: the curve's far past gets sparse, its first and its newest
 * points stay. One thread only.
 */
#ifndef MLQ_CLIENT_BACKLOG_H
#define MLQ_CLIENT_BACKLOG_H

#include <stddef.h>
#include <stdint.h>

#include "tools/client/ring.h"

#define MLQ_BACKLOG_MAX 32768 /* points: 1 MiB */

typedef struct {
	uint64_t number; /* n of the protocol: from 1, grows within the stream */
	mlq_point_t point;
} mlq_numbered_t;

typedef struct {
	mlq_numbered_t *points;
	size_t count;
	size_t capacity;
	size_t in_flight;     /* the oldest so many are being sent: they are not thinned */
	uint64_t last_number; /* given last */
} mlq_backlog_t;

/* Appends a point and numbers it. Returns how many points were given up for it. */
size_t mlq_backlog_add(mlq_backlog_t *backlog, const mlq_point_t *point);

/* Forgets the oldest count points. */
void mlq_backlog_drop(mlq_backlog_t *backlog, size_t count);

/*
 * Body of POST /v1/reports for the oldest count points (doc/protocol.md); cores 0 = unknown. NULL
 * when memory is short; to be freed with free().
 */
char *mlq_backlog_json(const mlq_backlog_t *backlog, size_t count, const char *stream,
		       double cores);

void mlq_backlog_free(mlq_backlog_t *backlog);

#endif
