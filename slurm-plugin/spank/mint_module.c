/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/spank/mint.h"

/* The key is in memory for this one call. */
int ml_quality_mint(const mlq_claims_t *claims, const char *key_path,
		    char *token, size_t token_size, char *error,
		    size_t error_size)
{
	mlq_key_t key;
	int rc;

	rc = mlq_key_load(key_path, &key, error, error_size);
	if (!rc)
		rc = mlq_token_mint(claims, &key, token, token_size, error,
				    error_size);
	mlq_key_wipe(&key);
	return rc;
}
