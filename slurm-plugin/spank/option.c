/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/spank/option.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/request/quality_request.h"

static bool given;
/* An earlier component of the heterogeneous job has one. */
static bool published;
/* One byte more than allowed: what was cut stays too long for the parser. */
static char value[MLQ_REQUEST_MAX + 1];

static int _option_cb(int val, const char *optarg, int remote)
{
	char error[MLQ_REQUEST_ERROR_MAX];
	mlq_request_t request;

	(void)val;
	/* Slurm writes a missing argument as (null) in some of its messages. */
	if (!optarg || (remote && !strcmp(optarg, "(null)")))
		optarg = "";

	/*
	 * sbatch hands each component what the one before was given: in the
	 * default's variable, which it reads after the script's lines.
	 */
	if (published && optarg == getenv(OPTION_DEFAULT))
		return 0;

	if (!remote &&
	    mlq_request_parse(optarg, &request, error, sizeof(error))) {
		slurm_error("ml_quality: --ml-quality (or " OPTION_TWIN
			    "=): %s",
			    error);
		return -1;
	}

	/* On the node the value is checked where it is used. */
	given = true;
	snprintf(value, sizeof(value), "%s", optarg);
	return 0;
}

void option_register(spank_t sp)
{
	static struct spank_option option = {
		.name = "ml-quality",
		.arginfo = "key=value,...",
		.usage = "[ml_quality] rank this training job by the quality "
			 "that its cores buy; keys: goal=min|max target= min= "
			 "max= unit=core|gpu|node|N iterations= batch= family= "
			 "resize=none|companion|requeue off",
		.has_arg = 2,
		.val = 0,
		.cb = _option_cb,
	};

	given = published = false;
	value[0] = '\0';
	if (spank_option_register(sp, &option) != ESPANK_SUCCESS)
		slurm_error("ml_quality: cannot register --ml-quality");
}

const char *option_value(void)
{
	return given ? value : NULL;
}

void option_adopt_twin(void)
{
	const char *twin = getenv(OPTION_TWIN);

	if (twin)
		setenv(OPTION_DEFAULT, twin[0] ? twin : "off", 1);
}

void option_forget_inherited(void)
{
	unsetenv(OPTION_DEFAULT);
	unsetenv(OPTION_RECORD);
}

void option_publish(spank_t sp)
{
	unsetenv(OPTION_TWIN);
	if (!given)
		return;

	/* Slurm itself would record a bare option as "(null)". */
	if (!value[0])
		strcpy(value, "on");
	setenv(OPTION_RECORD, value, 1);
	if (spank_job_control_setenv(sp, OPTION_RECORD, value, 1) !=
	    ESPANK_SUCCESS)
		slurm_error("ml_quality: cannot record --ml-quality");
}

void option_publish_component(spank_t sp)
{
	if (!given && published) {
		unsetenv(OPTION_RECORD);
		if (spank_job_control_unsetenv(sp, OPTION_RECORD) !=
		    ESPANK_SUCCESS)
			slurm_error("ml_quality: this component keeps the "
				    "--ml-quality of another one");
	}
	published |= given;
	option_publish(sp);
	given = false;
}
