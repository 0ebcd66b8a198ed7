/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/spank/cores.h"

#include <string.h>

/* Digits at *at, which moves behind them; 0 if there are none or too many. */
static uint32_t _number(const char **at)
{
	uint32_t n = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint32_t)(**at - '0'), &n))
			return 0;
	}
	return n;
}

uint32_t cores_sum(const char *at)
{
	uint32_t sum = 0;

	for (;;) {
		uint32_t cpus = _number(&at), nodes = 1;

		if (!strncmp(at, "(x", 2)) {
			at += 2;
			nodes = _number(&at);
			if (*at++ != ')')
				return 0;
		}
		if (!cpus || !nodes ||
		    __builtin_mul_overflow(cpus, nodes, &cpus) ||
		    __builtin_add_overflow(sum, cpus, &sum))
			return 0;
		if (!*at)
			return sum;
		if (*at++ != ',')
			return 0;
	}
}
