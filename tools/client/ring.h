/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounded lock-free queue of points: any number of producers and consumers (D. Vyukov's bounded
 * MPMC queue). A producer that finds it full takes the oldest out itself, so the newest always get
 * in.
 */
#ifndef MLQ_CLIENT_RING_H
#define MLQ_CLIENT_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MLQ_RING_SIZE 8192 /* points; a power of two */

typedef struct {
	double iteration;
	double loss; /* may be NaN or infinite */
	double time; /* seconds since the epoch */
} mlq_point_t;

typedef struct {
	_Atomic uint64_t turn; /* whose turn the cell is: a producer's or a consumer's position */
	mlq_point_t point;
} mlq_cell_t;

typedef struct {
	alignas(64) _Atomic uint64_t head; /* next position to write */
	alignas(64) _Atomic uint64_t tail; /* next position to read */
	alignas(64) mlq_cell_t cells[MLQ_RING_SIZE];
} mlq_ring_t;

void mlq_ring_init(mlq_ring_t *ring);

/* False when empty, or when the oldest is still being written. */
bool mlq_ring_pop(mlq_ring_t *ring, mlq_point_t *out);

/*
 * Puts a point in; *position says how many came before it. Returns how many points were given up
 * for it (0 as a rule). When even the oldest is still being written by a stopped producer, the new
 * point is the one that is given up.
 */
unsigned mlq_ring_push(mlq_ring_t *ring, const mlq_point_t *point, uint64_t *position);

/* Points in the ring, roughly. */
uint64_t mlq_ring_fill(mlq_ring_t *ring);

#endif
