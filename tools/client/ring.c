/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/client/ring.h"

#define MASK (MLQ_RING_SIZE - 1)
#define PUSH_ATTEMPTS                                                                              \
	64 /* bounds a producer that others keep overtaking while the ring is full                 \
	    */

_Static_assert((MLQ_RING_SIZE & MASK) == 0, "the size of the ring is a power of two");

void mlq_ring_init(mlq_ring_t *ring)
{
	for (uint64_t i = 0; i < MLQ_RING_SIZE; i++)
		atomic_init(&ring->cells[i].turn, i);
	atomic_init(&ring->head, 0);
	atomic_init(&ring->tail, 0);
}

static bool try_push(mlq_ring_t *ring, const mlq_point_t *point, uint64_t *position)
{
	uint64_t at = atomic_load_explicit(&ring->head, memory_order_relaxed);

	for (;;) {
		mlq_cell_t *cell = &ring->cells[at & MASK];
		uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);
		int64_t ahead = (int64_t)(turn - at);

		if (ahead < 0)
			return false; /* a lap behind: full */
		if (ahead > 0) {
			at = atomic_load_explicit(&ring->head, memory_order_relaxed);
			continue;
		}
		if (atomic_compare_exchange_weak_explicit(
			    &ring->head, &at, at + 1, memory_order_relaxed, memory_order_relaxed)) {
			cell->point = *point;
			atomic_store_explicit(&cell->turn, at + 1, memory_order_release);
			*position = at;
			return true;
		}
	}
}

bool mlq_ring_pop(mlq_ring_t *ring, mlq_point_t *out)
{
	uint64_t at = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	for (;;) {
		mlq_cell_t *cell = &ring->cells[at & MASK];
		uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);
		int64_t ahead = (int64_t)(turn - (at + 1));

		if (ahead < 0)
			return false;
		if (ahead > 0) {
			at = atomic_load_explicit(&ring->tail, memory_order_relaxed);
			continue;
		}
		if (atomic_compare_exchange_weak_explicit(
			    &ring->tail, &at, at + 1, memory_order_relaxed, memory_order_relaxed)) {
			*out = cell->point;
			atomic_store_explicit(&cell->turn, at + MLQ_RING_SIZE,
					      memory_order_release);
			return true;
		}
	}
}

unsigned mlq_ring_push(mlq_ring_t *ring, const mlq_point_t *point, uint64_t *position)
{
	unsigned given_up = 0;
	mlq_point_t oldest;

	*position = 0;
	for (int i = 0; i < PUSH_ATTEMPTS; i++) {
		if (try_push(ring, point, position))
			return given_up;
		if (mlq_ring_pop(ring, &oldest))
			given_up++;
	}
	return given_up + 1;
}

uint64_t mlq_ring_fill(mlq_ring_t *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	return head > tail ? head - tail : 0;
}
