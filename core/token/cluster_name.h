/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MLQ_CLUSTER_NAME_H
#define MLQ_CLUSTER_NAME_H

#include <stdbool.h>
#include <string.h>

#include "core/token/job_token.h"

/* Whether a token may name this cluster: graphic ASCII that JSON holds without escapes. */
static inline bool mlq_cluster_name_valid(const char *cluster)
{
	size_t size = strnlen(cluster, MLQ_CLUSTER_MAX);

	if (!size || size >= MLQ_CLUSTER_MAX)
		return false;
	for (const char *c = cluster; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == '"' || *c == '\\')
			return false;
	return true;
}

#endif
