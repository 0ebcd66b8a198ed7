/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MLQ_SCHED_CLOCK_H
#define MLQ_SCHED_CLOCK_H

#include <stdint.h>
#include <time.h>
#include <unistd.h>

/* Microseconds of a clock that never jumps. */
static inline uint64_t mlq_clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/*
 * Before each lock: others get their turn at it, and a thread that has just
 * slept is seldom taken off its core in the middle of a short hold.
 */
static inline void mlq_pause(void)
{
	usleep(500);
}

#endif
