/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/spank/reporting.h"

#include <inttypes.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "slurm-plugin/spank/config.h"
#include "slurm-plugin/spank/job_env.h"
#include "slurm-plugin/spank/mint.h"

/* A user who puts another text there is refused by mlqd, no more. */
void reporting_inherit(spank_t sp, uint32_t job_id, uint32_t step_id,
		       inherited_t *inherited)
{
	char theirs[24], ours[24];

	memset(inherited, 0, sizeof(*inherited));
	snprintf(ours, sizeof(ours), "%" PRIu32, job_id);
	if (step_id > SLURM_MAX_NORMAL_STEP_ID ||
	    job_env_read(sp, "MLQ_JOB", theirs, sizeof(theirs)) <= 0 ||
	    strcmp(theirs, ours) ||
	    job_env_read(sp, "MLQ_CLUSTER", inherited->cluster,
			 sizeof(inherited->cluster)) <= 0 ||
	    job_env_read(sp, "MLQ_TOKEN", inherited->token,
			 sizeof(inherited->token)) <= 0)
		memset(inherited, 0, sizeof(*inherited));
}

/* What goes into the token comes from Slurm and plugstack.conf alone. */
static int _mint(spank_t sp, uint32_t job_id, const config_t *config,
		 char *token, char *error)
{
	mlq_claims_t claims;
	uid_t uid;

	memset(&claims, 0, sizeof(claims));
	claims.role = MLQ_ROLE_JOB;
	claims.job_id = job_id;
	if (spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS) {
		snprintf(error, MLQ_TOKEN_ERROR_MAX, "it has no user");
		return -1;
	}
	claims.uid = uid;
	if (spank_get_item(sp, S_SLURM_RESTART_COUNT, &claims.restarts) !=
	    ESPANK_SUCCESS)
		claims.restarts = 0;
	snprintf(claims.cluster, sizeof(claims.cluster), "%s", config->cluster);
	claims.issued = (int64_t)time(NULL);
	claims.expires =
		claims.issued + (int64_t)config->token_days * 24 * 60 * 60;
	return mint(&claims, config->key, token, MLQ_TOKEN_MAX, error,
		    MLQ_TOKEN_ERROR_MAX);
}

void reporting_set(spank_t sp, uint32_t job_id, const inherited_t *inherited,
		   int ac, char **av)
{
	char token[MLQ_TOKEN_MAX], error[MLQ_TOKEN_ERROR_MAX];
	config_t config;

	if (config_parse(ac, av, &config, error, sizeof(error))) {
		slurm_error("ml_quality: plugstack.conf: %s; JobId=%" PRIu32
			    " cannot report",
			    error, job_id);
		return;
	}
	if (inherited->token[0] &&
	    !strcmp(inherited->cluster, config.cluster)) {
		strcpy(token, inherited->token);
	} else if (_mint(sp, job_id, &config, token, error)) {
		slurm_error("ml_quality: %s; JobId=%" PRIu32 " cannot report",
			    error, job_id);
		return;
	}
	job_env_set(sp, "MLQ_URL", config.url);
	job_env_set(sp, "MLQ_CLUSTER", config.cluster);
	job_env_set(sp, "MLQ_TOKEN", token);
}
