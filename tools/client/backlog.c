/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/client/backlog.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t thin(mlq_backlog_t *backlog)
{
	size_t from = backlog->in_flight ? backlog->in_flight
					 : 1; /* the first point says where the curve began */
	size_t to = from + (backlog->count - from) / 2;
	size_t kept = from;

	for (size_t i = from; i < to; i++)
		if ((i - from) % 2)
			backlog->points[kept++] = backlog->points[i];
	memmove(&backlog->points[kept], &backlog->points[to],
		(backlog->count - to) * sizeof(*backlog->points));
	backlog->count -= to - kept;
	return to - kept;
}

static void grow(mlq_backlog_t *backlog)
{
	size_t capacity = backlog->capacity ? backlog->capacity * 2 : 256;
	mlq_numbered_t *points = realloc(backlog->points, capacity * sizeof(*points));

	if (!points)
		return;
	backlog->points = points;
	backlog->capacity = capacity;
}

size_t mlq_backlog_add(mlq_backlog_t *backlog, const mlq_point_t *point)
{
	size_t given_up = 0;

	if (backlog->count == backlog->capacity && backlog->capacity < MLQ_BACKLOG_MAX)
		grow(backlog);
	if (backlog->count == backlog->capacity && backlog->count > backlog->in_flight + 2)
		given_up = thin(backlog);
	if (backlog->count == backlog->capacity)
		return given_up + 1; /* no memory at all */
	backlog->points[backlog->count++] = (mlq_numbered_t){++backlog->last_number, *point};
	return given_up;
}

void mlq_backlog_drop(mlq_backlog_t *backlog, size_t count)
{
	backlog->count -= count;
	if (backlog->count)
		memmove(backlog->points, backlog->points + count,
			backlog->count * sizeof(*backlog->points));
	backlog->in_flight = 0;
}

static json_t *point_json(const mlq_numbered_t *entry, double cores)
{
	const mlq_point_t *point = &entry->point;
	json_t *loss = isfinite(point->loss) ? json_real(point->loss) : json_null();
	json_t *json = json_pack("{s:I, s:f, s:o, s:f}", "n", (json_int_t)entry->number, "i",
				 point->iteration, "l", loss, "t", point->time);

	if (json && cores > 0)
		json_object_set_new(json, "c", json_real(cores));
	return json;
}

char *mlq_backlog_json(const mlq_backlog_t *backlog, size_t count, const char *stream, double cores)
{
	json_t *points = json_array();
	json_t *body = json_pack("{s:i, s:s, s:O}", "v", 1, "stream", stream, "points", points);
	char *text = NULL;
	int failed = 0;

	for (size_t i = 0; i < count; i++)
		failed |= json_array_append_new(points, point_json(&backlog->points[i], cores));
	if (body && !failed)
		text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	json_decref(points);
	return text;
}

void mlq_backlog_free(mlq_backlog_t *backlog)
{
	free(backlog->points);
	*backlog = (mlq_backlog_t){0};
}
