/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/token/hmac_sha256.h"

#include <string.h>

#define BLOCK 64

typedef struct {
	uint32_t state[8];
	unsigned char block[BLOCK];
	size_t used;            /* bytes in block */
	uint64_t size;          /* bytes so far */
} sha256_t;

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t _rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void _start(sha256_t *hash)
{
	/* the same of the square roots of the first 8 primes */
	static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memset(hash, 0, sizeof(*hash));
	memcpy(hash->state, first, sizeof(first));
}

static void _compress(sha256_t *hash)
{
	uint32_t w[64], s[8];

	for (int i = 0; i < 16; i++) {
		const unsigned char *b = hash->block + 4 * i;

		w[i] = (uint32_t) b[0] << 24 | (uint32_t) b[1] << 16 | (uint32_t) b[2] << 8 | b[3];
	}
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (_rotate(a, 7) ^ _rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (_rotate(b, 17) ^ _rotate(b, 19) ^ b >> 10);
	}
	memcpy(s, hash->state, sizeof(s));
	for (int i = 0; i < 64; i++) {
		uint32_t first = s[7] + (_rotate(s[4], 6) ^ _rotate(s[4], 11) ^ _rotate(s[4], 25)) +
				 ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_constants[i] + w[i];
		uint32_t second = (_rotate(s[0], 2) ^ _rotate(s[0], 13) ^ _rotate(s[0], 22)) +
				  ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(s[0]));
		s[4] += first;
		s[0] = first + second;
	}
	for (int i = 0; i < 8; i++)
		hash->state[i] += s[i];
	explicit_bzero(w, sizeof(w));
	explicit_bzero(s, sizeof(s));
}

static void _add(sha256_t *hash, const void *text, size_t size)
{
	const unsigned char *at = text;

	hash->size += size;
	while (size) {
		size_t n = size < BLOCK - hash->used ? size : BLOCK - hash->used;

		memcpy(hash->block + hash->used, at, n);
		hash->used += n;
		at += n;
		size -= n;
		if (hash->used == BLOCK) {
			_compress(hash);
			hash->used = 0;
		}
	}
}

static void _finish(sha256_t *hash, unsigned char out[MLQ_SHA256_SIZE])
{
	const uint64_t bits = hash->size * 8;
	static const unsigned char end[BLOCK] = { 0x80 };
	unsigned char length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char) (bits >> (56 - 8 * i));
	_add(hash, end, (hash->used < 56 ? 56 : 56 + BLOCK) - hash->used);
	_add(hash, length, sizeof(length));
	for (int i = 0; i < MLQ_SHA256_SIZE; i++)
		out[i] = (unsigned char) (hash->state[i / 4] >> (24 - 8 * (i % 4)));
	explicit_bzero(hash, sizeof(*hash));
}

void mlq_hmac_sha256(const unsigned char *key, size_t key_size, const void *text, size_t size,
		     unsigned char out[MLQ_SHA256_SIZE])
{
	unsigned char pad[BLOCK] = { 0 }, inner[MLQ_SHA256_SIZE];
	sha256_t hash;

	if (key_size > BLOCK) {
		_start(&hash);
		_add(&hash, key, key_size);
		_finish(&hash, pad);
	} else {
		memcpy(pad, key, key_size);
	}
	for (int i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36;
	_start(&hash);
	_add(&hash, pad, BLOCK);
	_add(&hash, text, size);
	_finish(&hash, inner);
	for (int i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	_start(&hash);
	_add(&hash, pad, BLOCK);
	_add(&hash, inner, sizeof(inner));
	_finish(&hash, out);
	explicit_bzero(pad, sizeof(pad));
	explicit_bzero(inner, sizeof(inner));
}
