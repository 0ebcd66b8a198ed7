/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Minting lives in a module of its own, loaded for this alone: what slurmstepd
 * has mapped is copied once more in the fork of every task, and libjwt brings
 * twenty mappings. The steps of a job that has its token already load nothing.
 */
#ifndef MLQ_SPANK_MINT_H
#define MLQ_SPANK_MINT_H

#include <stddef.h>

#include "core/token/job_token.h"

#define MINT_MODULE "spank_ml_quality_token.so"
#define MINT_FUNCTION "ml_quality_mint"

/*
 * Signs the claims with the key in that file into token (MLQ_TOKEN_MAX bytes
 * suffice). 0, or -1 with the reason in error.
 */
typedef int mint_f(const mlq_claims_t *claims, const char *key_path,
		   char *token, size_t token_size, char *error,
		   size_t error_size);

/* What the module exports. */
extern mint_f ml_quality_mint;

/* The same, through the module. */
extern mint_f mint;

/* Where the module lies: beside this plugin. 0, or -1 if that is not known. */
extern int mint_module_path(char *path, size_t size);

#endif
