/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/request/quality_request.h"
#include "slurm-plugin/spank/ask.h"
#include "slurm-plugin/spank/contexts.h"
#include "slurm-plugin/spank/node_speeds.h"
#include "slurm-plugin/spank/option.h"

#define DEADLINE_MS 200 /* for mlqd, everything together */
#define ANSWER_MAX (1 << 20)

void srun_init(void)
{
	/* A step of the job around it goes on with that job's option. */
	if (!getenv("SLURM_JOB_ID"))
		option_forget_inherited();
	option_adopt_twin();
}

/* Whether the step's option, or its twin, asks for a batch to be split. */
static bool _splits_a_batch(void)
{
	const char *text = option_value();
	mlq_request_t request;

	if (!text)
		text = getenv(OPTION_TWIN);
	return text && !mlq_request_parse(text, &request, NULL, 0) &&
	       !request.off && request.batch;
}

/* name=value of a query, what is no letter or digit as %XX. */
static int _escape(const char *name, const char *value, char *out, size_t size)
{
	size_t used = (size_t)snprintf(out, size, "%s=", name);

	for (; *value; value++) {
		bool plain = (*value >= '0' && *value <= '9') ||
			     (*value >= 'a' && *value <= 'z') ||
			     (*value >= 'A' && *value <= 'Z');

		if (used + 4 > size)
			return -1;
		used += (size_t)snprintf(out + used, size - used,
					 plain ? "%c" : "%%%02X",
					 (unsigned char)*value);
	}
	return 0;
}

static void _publish_speeds(const char *url, const char *token,
			    const char *family, const char *unit,
			    const char *nodes)
{
	char path[2048], first[1024], second[64];
	char *answer = malloc(ANSWER_MAX), *speeds = malloc(NODE_SPEEDS_MAX);
	const char *reason = "the job's family is too long";
	long n = -1;

	if (answer && speeds &&
	    !_escape("family", family, first, sizeof(first)) &&
	    !_escape("unit", unit, second, sizeof(second))) {
		snprintf(path, sizeof(path), "/v1/speeds?format=text&%s&%s",
			 first, second);
		n = ask_get(url, path, token, DEADLINE_MS, answer, ANSWER_MAX,
			    &reason);
	}
	if (n < 0)
		slurm_verbose("ml_quality: %s; the batch is split equally",
			      reason);
	else if (!node_speeds_format(answer, nodes, speeds, NODE_SPEEDS_MAX))
		setenv(NODE_SPEEDS, speeds, 1);
	free(answer);
	free(speeds);
}

void srun_before_launch(void)
{
	const char *url = getenv("MLQ_URL"), *token = getenv("MLQ_TOKEN"),
		   *family = getenv("MLQ_FAMILY"), *unit = getenv("MLQ_UNIT"),
		   *nodes = getenv("SLURM_JOB_NODELIST");

	unsetenv(NODE_SPEEDS); /* of an enclosing step */
	if (url && token && family && unit && nodes && _splits_a_batch())
		_publish_speeds(url, token, family, unit, nodes);
}
