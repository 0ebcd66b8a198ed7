/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <unistd.h>

#include "core/token/job_token.h"
#include "slurm-plugin/spank/config.h"
#include "slurm-plugin/spank/contexts.h"
#include "slurm-plugin/spank/mint.h"

void slurmd_init(int ac, char **av)
{
	char error[MLQ_TOKEN_ERROR_MAX], module[PATH_MAX] = MINT_MODULE;
	config_t config;
	mlq_key_t key;

	if (config_parse(ac, av, &config, error, sizeof(error))) {
		slurm_error("ml_quality: plugstack.conf: %s; jobs on this node "
			    "cannot report",
			    error);
		return;
	}
	if (mlq_key_load(config.key, &key, error, sizeof(error)))
		slurm_error("ml_quality: %s; jobs on this node cannot report",
			    error);
	else if (mint_module_path(module, sizeof(module)) ||
		 access(module, R_OK))
		slurm_error("ml_quality: %s is not there; jobs on this node "
			    "cannot report",
			    module);
	else
		slurm_info("ml_quality: jobs of cluster %s report to %s",
			   config.cluster, config.url);
	mlq_key_wipe(&key);
}
