/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JWT by which a job, or a scheduler on another host, shows mlqd who it is (HS256 with the site's key).
 *
 * Plain C on libjwt: no globals, no clock, no threads; it runs in slurmstepd, in slurmctld and in mlqd.
 * A message in error never holds a key or a token. error may be NULL.
 */
#ifndef MLQ_JOB_TOKEN_H
#define MLQ_JOB_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MLQ_KEY_MIN 32          /* bytes; HS256 gains nothing from less than its hash */
#define MLQ_KEY_MAX 1024
#define MLQ_CLUSTER_MAX 64      /* bytes, NUL included; graphic ASCII without " and \ */
#define MLQ_TOKEN_MAX 1024      /* bytes, NUL included; every minted token fits */
#define MLQ_TOKEN_SKEW_S 300    /* how far the clocks of two hosts may differ */
#define MLQ_TOKEN_ERROR_MAX 256

/* The site's key as it lies in its file, byte for byte. */
typedef struct {
	unsigned char bytes[MLQ_KEY_MAX];
	size_t size;
} mlq_key_t;

typedef enum { MLQ_ROLE_JOB, MLQ_ROLE_SCHEDULER } mlq_role_t;

typedef struct {
	mlq_role_t role;
	char cluster[MLQ_CLUSTER_MAX];
	uint32_t job_id;        /* 1..; 0 for a scheduler */
	uint32_t uid;
	uint32_t restarts;      /* requeues before this run */
	int64_t issued;         /* iat, seconds since the epoch, > 0 */
	int64_t expires;        /* exp, > issued */
} mlq_claims_t;

typedef enum {
	MLQ_TOKEN_OK,
	MLQ_TOKEN_MALFORMED,    /* no JWT, or a claim missing or out of range */
	MLQ_TOKEN_FORGED,       /* signature or algorithm wrong */
	MLQ_TOKEN_EXPIRED,      /* now >= expires */
	MLQ_TOKEN_EARLY,        /* issued later than now + MLQ_TOKEN_SKEW_S: a clock is wrong, and may be set right */
} mlq_token_result_t;

/*
 * Reads a key file: a regular file of MLQ_KEY_MIN..MLQ_KEY_MAX bytes which nobody but its owner may change and only
 * owner and group may read; unless the caller is root it must belong to the caller or to root. 0 or -1.
 */
int mlq_key_load(const char *path, mlq_key_t *key, char *error, size_t error_size);

/* Writes MLQ_KEY_MIN * 2 random bytes to a new file of mode 0600; an existing file is an error. 0 or -1. */
int mlq_key_create(const char *path, char *error, size_t error_size);

/* Overwrites the key in memory. */
void mlq_key_wipe(mlq_key_t *key);

/* Signs the claims into token (MLQ_TOKEN_MAX bytes suffice). 0, or -1 with token "". */
int mlq_token_mint(const mlq_claims_t *claims, const mlq_key_t *key, char *token, size_t token_size,
		   char *error, size_t error_size);

/* Checks signature, times and ranges; *claims is only valid with MLQ_TOKEN_OK. */
mlq_token_result_t mlq_token_verify(const char *token, const mlq_key_t *key, int64_t now, mlq_claims_t *claims,
				    char *error, size_t error_size);

/* The times alone, of claims that mlq_token_verify() has let through before: MLQ_TOKEN_OK, _EXPIRED or _EARLY. */
mlq_token_result_t mlq_claims_in_time(const mlq_claims_t *claims, int64_t now, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
