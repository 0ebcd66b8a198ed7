/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "slurm-plugin/spank/node_speeds.h"

#include <math.h>
#include <slurm/slurm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 65536

typedef struct {
	const char *name; /* not terminated */
	size_t length;
	double speed;
} entry_t;

typedef struct {
	entry_t *entries;
	size_t count;
} table_t;

static int _compare(const void *a, const void *b)
{
	const entry_t *left = a, *right = b;
	size_t shorter = left->length < right->length ? left->length :
							right->length;
	int order = memcmp(left->name, right->name, shorter);

	if (order)
		return order;
	return (left->length > right->length) - (left->length < right->length);
}

/* Entries "name<between>number<end>", sorted; malformed ones are left out. */
static void _read(const char *text, char between, char end, table_t *table)
{
	size_t most = 1;

	table->count = 0;
	for (const char *at = text; *at; at++)
		most += *at == end;
	table->entries = most <= NODES_MAX ? calloc(most, sizeof(entry_t)) :
					     NULL;
	for (const char *at = text; *at && table->entries;) {
		const char *stop = strchrnul(at, end);
		const char *middle = memchr(at, between, (size_t)(stop - at));
		entry_t *entry = &table->entries[table->count];
		char *after;

		if (middle && middle > at) {
			entry->name = at;
			entry->length = (size_t)(middle - at);
			entry->speed = strtod(middle + 1, &after);
			if (after == stop && isfinite(entry->speed) &&
			    entry->speed > 0)
				table->count++;
		}
		at = *stop ? stop + 1 : stop;
	}
	if (table->count)
		qsort(table->entries, table->count, sizeof(entry_t), _compare);
}

static const entry_t *_find(const table_t *table, const char *name)
{
	entry_t wanted = {.name = name, .length = strlen(name)};

	if (!table->count)
		return NULL;
	return bsearch(&wanted, table->entries, table->count, sizeof(entry_t),
		       _compare);
}

static int _compare_speeds(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double _median(double *speeds, size_t count)
{
	qsort(speeds, count, sizeof(*speeds), _compare_speeds);
	return (speeds[(count - 1) / 2] + speeds[count / 2]) / 2;
}

/* Adds one entry for every node that is known; its length, -1 if too long. */
static int _append(const table_t *known, struct hostlist *nodes, double median,
		   char *out, size_t size)
{
	size_t used = 0;
	char *name;

	while ((name = slurm_hostlist_shift(nodes))) {
		const entry_t *entry = _find(known, name);
		double weight = entry ? NODE_WEIGHT_MIDDLE * entry->speed /
						median :
					0;
		int n = 0;

		if (weight < 1)
			weight = 1;
		if (weight > NODE_WEIGHT_MAX)
			weight = NODE_WEIGHT_MAX;
		if (entry)
			n = snprintf(out + used, size - used, "%s%s=%.0f",
				     used ? "," : "", name, weight);
		free(name);
		if (n < 0 || used + (size_t)n >= size)
			return -1;
		used += (size_t)n;
	}
	return (int)used;
}

static size_t _speeds_of(const table_t *known, struct hostlist *nodes, double *speeds,
			 size_t most)
{
	size_t count = 0;
	char *name;

	while (count < most && (name = slurm_hostlist_shift(nodes))) {
		const entry_t *entry = _find(known, name);

		if (entry)
			speeds[count++] = entry->speed;
		free(name);
	}
	return count;
}

int node_speeds_format(const char *answer, const char *nodelist, char *out,
		       size_t size)
{
	struct hostlist *nodes = slurm_hostlist_create(nodelist);
	struct hostlist *again = slurm_hostlist_create(nodelist);
	double *speeds = NULL;
	table_t known;
	size_t count = 0;
	int used = -1;

	_read(answer, ' ', '\n', &known);
	if (known.count)
		speeds = calloc(known.count, sizeof(*speeds));
	if (speeds && nodes && again)
		count = _speeds_of(&known, nodes, speeds, known.count);
	if (count)
		used = _append(&known, again, _median(speeds, count), out,
			       size);
	if (nodes)
		slurm_hostlist_destroy(nodes);
	if (again)
		slurm_hostlist_destroy(again);
	free(speeds);
	free(known.entries);
	return used > 0 ? 0 : -1;
}

/* The tasks of the next node of "2(x3),1"; 0 at the end or on a fault. */
static uint32_t _next_tasks(const char **at, uint32_t *left, uint32_t *tasks)
{
	char *end;

	if (*left) {
		(*left)--;
		return *tasks;
	}
	if (**at == ',')
		(*at)++;
	if (**at < '1' || **at > '9')
		return 0;
	*tasks = (uint32_t)strtoul(*at, &end, 10);
	if (*tasks > NODES_MAX)
		return 0;
	if (end[0] == '(' && end[1] == 'x') {
		*left = (uint32_t)strtoul(end + 2, &end, 10);
		if (*end++ != ')' || !*left || *left > NODES_MAX)
			return 0;
		(*left)--;
	}
	*at = end;
	return *tasks;
}

void node_speeds_part(const char *speeds, const char *nodelist,
		      const char *tasks_per_node, uint32_t ranks, uint32_t node,
		      node_part_t *part)
{
	struct hostlist *nodes = slurm_hostlist_create(nodelist);
	uint32_t left = 0, tasks = 0, seen = 0, here = 0, index = 0;
	const char *at = tasks_per_node;
	table_t known;
	char *name;

	memset(part, 0, sizeof(*part));
	part->ranks = ranks;
	_read(speeds, '=', ',', &known);
	while (nodes && known.count && (name = slurm_hostlist_shift(nodes))) {
		const entry_t *entry = _find(&known, name);
		uint64_t weight = NODE_WEIGHT_MIDDLE;

		if (entry && entry->speed >= 1 &&
		    entry->speed <= NODE_WEIGHT_MAX)
			weight = (uint64_t)entry->speed;
		free(name);
		here = _next_tasks(&at, &left, &tasks);
		if (!here || here > ranks - seen)
			break;
		if (index == node) {
			part->before = part->total;
			part->weight = weight;
			part->first = seen;
			part->here = here;
		}
		part->total += weight * here;
		seen += here;
		index++;
	}
	/* One rank too many or too few, and the sum would not be exact. */
	if (seen != ranks || left || *at || !part->weight)
		part->total = 0;
	if (nodes)
		slurm_hostlist_destroy(nodes);
	free(known.entries);
}
