/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/token/job_token.h"

#include <errno.h>
#include <jwt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4)))
static void _fail(char *error, size_t error_size, const char *format, ...)
{
	va_list args;

	if (!error || !error_size)
		return;
	va_start(args, format);
	vsnprintf(error, error_size, format, args);
	va_end(args);
}

static bool _cluster_valid(const char *cluster)
{
	size_t size = strnlen(cluster, MLQ_CLUSTER_MAX);

	if (!size || size >= MLQ_CLUSTER_MAX)
		return false;
	for (const char *c = cluster; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == '"' || *c == '\\')
			return false;
	return true;
}

static const char *_claims_problem(const mlq_claims_t *claims)
{
	if (!_cluster_valid(claims->cluster))
		return "cluster: 1 to 63 graphic ASCII characters without quote and backslash are allowed";
	if (claims->role == MLQ_ROLE_JOB && !claims->job_id)
		return "job: a number from 1 to 4294967295 is needed";
	if (claims->issued <= 0)
		return "iat: a time after 1970 is needed";
	if (claims->expires <= claims->issued)
		return "exp: a time later than iat is needed";
	return NULL;
}

int mlq_token_mint(const mlq_claims_t *claims, const mlq_key_t *key, char *token, size_t token_size,
		   char *error, size_t error_size)
{
	const char *problem = _claims_problem(claims);
	jwt_t *jwt = NULL;
	char *text = NULL;
	int bad, rc = -1;

	if (token_size)
		token[0] = '\0';
	if (problem) {
		_fail(error, error_size, "token: %s", problem);
		return -1;
	}
	if (key->size < MLQ_KEY_MIN || key->size > MLQ_KEY_MAX) {
		_fail(error, error_size, "key has %zu bytes, %d to %d are allowed", key->size, MLQ_KEY_MIN, MLQ_KEY_MAX);
		return -1;
	}
	if (jwt_new(&jwt) || jwt_set_alg(jwt, JWT_ALG_HS256, key->bytes, (int) key->size)) {
		_fail(error, error_size, "token: libjwt has no memory");
		goto done;
	}
	bad = jwt_add_grant(jwt, "cluster", claims->cluster);
	if (claims->role == MLQ_ROLE_SCHEDULER) {
		bad |= jwt_add_grant(jwt, "role", "scheduler");
	} else {
		bad |= jwt_add_grant_int(jwt, "job", claims->job_id);
		bad |= jwt_add_grant_int(jwt, "restarts", claims->restarts);
	}
	bad |= jwt_add_grant_int(jwt, "uid", claims->uid);
	bad |= jwt_add_grant_int(jwt, "iat", claims->issued);
	bad |= jwt_add_grant_int(jwt, "exp", claims->expires);
	text = bad ? NULL : jwt_encode_str(jwt);
	if (!text) {
		_fail(error, error_size, "token: libjwt could not sign");
	} else if (strlen(text) >= token_size) {
		_fail(error, error_size, "token has %zu bytes, there is room for %zu", strlen(text), token_size);
	} else {
		strcpy(token, text);
		rc = 0;
	}
done:
	free(text);
	jwt_free(jwt);
	return rc;
}

/* An integer claim in [low, high]; absent counts as low when optional. */
static bool _int_claim(jwt_t *jwt, const char *name, bool optional, long low, long high, long *out)
{
	errno = 0;
	*out = jwt_get_grant_int(jwt, name);
	if (optional && errno == ENOENT) {
		*out = low;
		return true;
	}
	return !errno && *out >= low && *out <= high;
}

/* The name of the first claim that is missing or out of range, NULL if all are well. */
static const char *_read_claims(jwt_t *jwt, mlq_claims_t *claims)
{
	const char *text;
	long job = 0, uid, restarts, issued, expires;

	memset(claims, 0, sizeof(*claims));
	if ((text = jwt_get_grant(jwt, "role"))) {
		if (strcmp(text, "scheduler"))
			return "role";
		claims->role = MLQ_ROLE_SCHEDULER;
	} else if (errno != ENOENT) {
		return "role";
	}
	if (!(text = jwt_get_grant(jwt, "cluster")) || strnlen(text, MLQ_CLUSTER_MAX) >= MLQ_CLUSTER_MAX)
		return "cluster";
	strcpy(claims->cluster, text);
	if (claims->role == MLQ_ROLE_JOB && !_int_claim(jwt, "job", false, 1, UINT32_MAX, &job))
		return "job";
	if (!_int_claim(jwt, "uid", claims->role == MLQ_ROLE_SCHEDULER, 0, UINT32_MAX, &uid))
		return "uid";
	if (!_int_claim(jwt, "restarts", true, 0, UINT32_MAX, &restarts))
		return "restarts";
	if (!_int_claim(jwt, "iat", false, 1, INT64_MAX, &issued))
		return "iat";
	if (!_int_claim(jwt, "exp", false, 1, INT64_MAX, &expires))
		return "exp";
	claims->job_id = (uint32_t) job;
	claims->uid = (uint32_t) uid;
	claims->restarts = (uint32_t) restarts;
	claims->issued = issued;
	claims->expires = expires;
	if (!_cluster_valid(claims->cluster))
		return "cluster";
	return expires > issued ? NULL : "exp";
}

/* Whether the token claims HS256: asked before the key meets it, so that no other algorithm ever takes the key. */
static mlq_token_result_t _check_header(const char *token)
{
	jwt_t *jwt = NULL;
	const char *alg;
	bool hs256;

	if (jwt_decode(&jwt, token, NULL, 0))
		return MLQ_TOKEN_MALFORMED;
	/* not jwt_get_alg(): decoding without a key sets it to none */
	alg = jwt_get_header(jwt, "alg");
	hs256 = alg && jwt_str_alg(alg) == JWT_ALG_HS256;
	jwt_free(jwt);
	return hs256 ? MLQ_TOKEN_OK : MLQ_TOKEN_FORGED;
}

mlq_token_result_t mlq_token_verify(const char *token, const mlq_key_t *key, int64_t now, mlq_claims_t *claims,
				    char *error, size_t error_size)
{
	jwt_t *jwt = NULL;
	const char *claim;
	mlq_token_result_t result = MLQ_TOKEN_MALFORMED;

	memset(claims, 0, sizeof(*claims));
	if (!token || strnlen(token, MLQ_TOKEN_MAX) >= MLQ_TOKEN_MAX ||
	    (result = _check_header(token)) == MLQ_TOKEN_MALFORMED) {
		_fail(error, error_size, "token is not a JWT of at most %d bytes", MLQ_TOKEN_MAX - 1);
		return MLQ_TOKEN_MALFORMED;
	}
	if (result != MLQ_TOKEN_OK) {
		_fail(error, error_size, "token is not signed with HS256");
		return result;
	}
	if (key->size < MLQ_KEY_MIN || jwt_decode(&jwt, token, key->bytes, (int) key->size)) {
		_fail(error, error_size, "token is not signed with this site's key");
		return MLQ_TOKEN_FORGED;
	}
	claim = _read_claims(jwt, claims);
	jwt_free(jwt);
	if (claim) {
		_fail(error, error_size, "token: claim %s is missing or out of range", claim);
		return MLQ_TOKEN_MALFORMED;
	}
	return mlq_claims_in_time(claims, now, error, error_size);
}

mlq_token_result_t mlq_claims_in_time(const mlq_claims_t *claims, int64_t now, char *error, size_t error_size)
{
	if (now >= claims->expires) {
		_fail(error, error_size, "token expired %lld s ago", (long long) (now - claims->expires));
		return MLQ_TOKEN_EXPIRED;
	}
	if (claims->issued - MLQ_TOKEN_SKEW_S > now) {
		_fail(error, error_size, "token was issued %lld s in the future, at most %d are allowed: check the clocks",
		      (long long) (claims->issued - now), MLQ_TOKEN_SKEW_S);
		return MLQ_TOKEN_EARLY;
	}
	return MLQ_TOKEN_OK;
}
