/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "slurm-plugin/spank/contexts.h"
#include "slurm-plugin/spank/option.h"

void srun_init(void)
{
	/* A step of the job around it goes on with that job's option. */
	if (!getenv("SLURM_JOB_ID"))
		option_forget_inherited();
	option_adopt_twin();
}
