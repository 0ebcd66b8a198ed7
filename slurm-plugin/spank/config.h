/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's arguments in plugstack.conf. */
#ifndef MLQ_SPANK_CONFIG_H
#define MLQ_SPANK_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "core/token/job_token.h"

#define CONFIG_URL_MAX 256 /* bytes, NUL included */
#define CONFIG_PATH_MAX 1024
#define CONFIG_TOKEN_DAYS_DEFAULT 30
#define CONFIG_TOKEN_DAYS_MAX 366

typedef struct {
	char url[CONFIG_URL_MAX];      /* http[s]://host[:port][/path] */
	char key[CONFIG_PATH_MAX];     /* absolute path of the key file */
	char cluster[MLQ_CLUSTER_MAX]; /* ClusterName of slurm.conf */
	uint32_t token_days;	       /* 1..CONFIG_TOKEN_DAYS_MAX */
} config_t;

/*
 * Each argument once, none unknown; url, key and cluster must be given. Returns
 * 0, or -1 with a message that names the argument, what was given and what is
 * allowed. Nothing is trusted from the job's environment: the cluster's name
 * goes into a signed token.
 */
extern int config_parse(int ac, char **av, config_t *config, char *error,
			size_t error_size);

#endif
