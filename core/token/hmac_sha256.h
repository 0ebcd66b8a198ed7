/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HMAC-SHA256 (RFC 2104, FIPS 180-4) for signing a job's token.
 *
 * Without a library, because the signer lives in slurmstepd, whose every mapping is copied once more in the fork of each
 * task: libjwt and what it needs are 20 mappings. mlqd checks signatures by libjwt.
 */
#ifndef MLQ_HMAC_SHA256_H
#define MLQ_HMAC_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define MLQ_SHA256_SIZE 32

void mlq_hmac_sha256(const unsigned char *key, size_t key_size, const void *text, size_t size,
		     unsigned char out[MLQ_SHA256_SIZE]);

#endif
