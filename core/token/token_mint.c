/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/token/cluster_name.h"
#include "core/token/hmac_sha256.h"
#include "core/token/job_token.h"

#define CLAIMS_MAX 256          /* bytes of the payload: a name of 63 and six numbers */

__attribute__((format(printf, 3, 4)))
static int _fail(char *error, size_t error_size, const char *format, ...)
{
	va_list args;

	if (error && error_size) {
		va_start(args, format);
		vsnprintf(error, error_size, format, args);
		va_end(args);
	}
	return -1;
}

static const char *_claims_problem(const mlq_claims_t *claims)
{
	if (!mlq_cluster_name_valid(claims->cluster))
		return "cluster: 1 to 63 graphic ASCII characters without quote and backslash are allowed";
	if (claims->role == MLQ_ROLE_JOB && !claims->job_id)
		return "job: a number from 1 to 4294967295 is needed";
	if (claims->issued <= 0)
		return "iat: a time after 1970 is needed";
	if (claims->expires <= claims->issued)
		return "exp: a time later than iat is needed";
	return NULL;
}

/* A name that is valid needs no escapes. */
static void _write_claims(const mlq_claims_t *claims, char text[CLAIMS_MAX])
{
	char whose[80] = "\"role\":\"scheduler\"";

	if (claims->role == MLQ_ROLE_JOB)
		snprintf(whose, sizeof(whose), "\"job\":%" PRIu32 ",\"restarts\":%" PRIu32, claims->job_id,
			 claims->restarts);
	snprintf(text, CLAIMS_MAX, "{\"cluster\":\"%s\",\"exp\":%" PRId64 ",\"iat\":%" PRId64 ",%s,\"uid\":%" PRIu32 "}",
		 claims->cluster, claims->expires, claims->issued, whose, claims->uid);
}

/* base64url without padding (RFC 7515, 2) at the end of out. */
static void _append(const void *data, size_t size, char out[MLQ_TOKEN_MAX])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const unsigned char *from = data;
	size_t used = strlen(out);

	for (size_t i = 0; i < size && used + 5 < MLQ_TOKEN_MAX; i += 3) {
		size_t left = size - i;
		uint32_t bits = (uint32_t) from[i] << 16 | (left > 1 ? (uint32_t) from[i + 1] << 8 : 0) |
				(left > 2 ? from[i + 2] : 0);

		for (size_t n = 0; n < 4 && n <= left; n++)
			out[used++] = digits[bits >> (18 - 6 * n) & 63];
	}
	out[used] = '\0';
}

int mlq_token_mint(const mlq_claims_t *claims, const mlq_key_t *key, char *token, size_t token_size,
		   char *error, size_t error_size)
{
	static const char header[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
	const char *problem = _claims_problem(claims);
	unsigned char signature[MLQ_SHA256_SIZE];
	char text[MLQ_TOKEN_MAX] = "", payload[CLAIMS_MAX];

	if (token_size)
		token[0] = '\0';
	if (problem)
		return _fail(error, error_size, "token: %s", problem);
	if (key->size < MLQ_KEY_MIN || key->size > MLQ_KEY_MAX)
		return _fail(error, error_size, "key has %zu bytes, %d to %d are allowed", key->size, MLQ_KEY_MIN,
			     MLQ_KEY_MAX);
	_write_claims(claims, payload);
	_append(header, sizeof(header) - 1, text);
	strcat(text, ".");
	_append(payload, strlen(payload), text);
	mlq_hmac_sha256(key->bytes, key->size, text, strlen(text), signature);
	strcat(text, ".");
	_append(signature, sizeof(signature), text);
	if (strlen(text) >= token_size)
		return _fail(error, error_size, "token has %zu bytes, there is room for %zu", strlen(text), token_size);
	strcpy(token, text);
	return 0;
}
