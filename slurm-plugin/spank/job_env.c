/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/spank/job_env.h"

void job_env_set(spank_t sp, const char *name, const char *value)
{
	if (spank_setenv(sp, name, value, 1) != ESPANK_SUCCESS)
		slurm_error("ml_quality: cannot set %s", name);
}

int job_env_read(spank_t sp, const char *name, char *text, size_t size)
{
	spank_err_t rc = spank_getenv(sp, name, text, (int)size);

	if (rc == ESPANK_ENV_NOEXIST)
		return 0;
	return rc == ESPANK_SUCCESS ? 1 : -1;
}
