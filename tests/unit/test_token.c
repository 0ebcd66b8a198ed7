/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <jwt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/token/job_token.h"

static const int64_t NOW = 1790000000;
static char error[MLQ_TOKEN_ERROR_MAX];
static char token[MLQ_TOKEN_MAX];
static char dir[] = "/tmp/mlq-token-XXXXXX";

static mlq_key_t _key(unsigned char first)
{
	mlq_key_t key = { .size = MLQ_KEY_MIN };

	for (size_t i = 0; i < key.size; i++)
		key.bytes[i] = (unsigned char) (first + i * 7);     /* holds a zero byte and bytes above 127 */
	return key;
}

static mlq_claims_t _job(void)
{
	mlq_claims_t claims = { .role = MLQ_ROLE_JOB, .cluster = "c1", .job_id = 4294967295u, .uid = 4000000000u,
				.restarts = 3, .issued = NOW - 10, .expires = NOW + 10 };
	return claims;
}

static mlq_token_result_t _verify(const char *text, int64_t now, mlq_claims_t *out)
{
	mlq_key_t key = _key(0);

	return mlq_token_verify(text, &key, now, out, error, sizeof(error));
}

/* A token with any payload, signed with the right key. */
static const char *_raw(const char *json, jwt_alg_t alg)
{
	mlq_key_t key = _key(0);
	jwt_t *jwt;
	char *text;

	ck_assert_int_eq(jwt_new(&jwt), 0);
	ck_assert_int_eq(jwt_add_grants_json(jwt, json), 0);
	if (alg != JWT_ALG_NONE)
		ck_assert_int_eq(jwt_set_alg(jwt, alg, key.bytes, (int) key.size), 0);
	text = jwt_encode_str(jwt);
	ck_assert_ptr_nonnull(text);
	snprintf(token, sizeof(token), "%s", text);
	free(text);
	jwt_free(jwt);
	return token;
}

START_TEST(round_trip)
{
	mlq_claims_t in = _job(), out;
	mlq_key_t key = _key(0);

	ck_assert_int_eq(mlq_token_mint(&in, &key, token, sizeof(token), error, sizeof(error)), 0);
	ck_assert_int_eq(_verify(token, NOW, &out), MLQ_TOKEN_OK);
	ck_assert_int_eq(out.role, MLQ_ROLE_JOB);
	ck_assert_str_eq(out.cluster, "c1");
	ck_assert_uint_eq(out.job_id, 4294967295u);
	ck_assert_uint_eq(out.uid, 4000000000u);
	ck_assert_uint_eq(out.restarts, 3);
	ck_assert_int_eq(out.issued, NOW - 10);
	ck_assert_int_eq(out.expires, NOW + 10);

	in.role = MLQ_ROLE_SCHEDULER;
	ck_assert_int_eq(mlq_token_mint(&in, &key, token, sizeof(token), NULL, 0), 0);
	ck_assert_int_eq(_verify(token, NOW, &out), MLQ_TOKEN_OK);
	ck_assert_int_eq(out.role, MLQ_ROLE_SCHEDULER);
	ck_assert_uint_eq(out.job_id, 0);
}
END_TEST

START_TEST(times)
{
	mlq_claims_t in = _job(), out;
	mlq_key_t key = _key(0);

	mlq_token_mint(&in, &key, token, sizeof(token), NULL, 0);
	ck_assert_int_eq(_verify(token, in.expires - 1, &out), MLQ_TOKEN_OK);
	ck_assert_int_eq(_verify(token, in.expires, &out), MLQ_TOKEN_EXPIRED);
	ck_assert_str_eq(error, "token expired 0 s ago");
	ck_assert_int_eq(_verify(token, in.issued - MLQ_TOKEN_SKEW_S, &out), MLQ_TOKEN_OK);
	ck_assert_int_eq(_verify(token, in.issued - MLQ_TOKEN_SKEW_S - 1, &out), MLQ_TOKEN_EARLY);
}
END_TEST

START_TEST(forged)
{
	mlq_claims_t in = _job(), out;
	mlq_key_t other = _key(1);
	char *dot;

	mlq_token_mint(&in, &other, token, sizeof(token), NULL, 0);
	ck_assert_int_eq(_verify(token, NOW, &out), MLQ_TOKEN_FORGED);
	ck_assert_ptr_null(strstr(error, token));

	mlq_key_t key = _key(0);
	mlq_token_mint(&in, &key, token, sizeof(token), NULL, 0);
	dot = strrchr(token, '.');
	dot[1] = dot[1] == 'A' ? 'B' : 'A';
	ck_assert_int_eq(_verify(token, NOW, &out), MLQ_TOKEN_FORGED);
	dot[1] = '\0';
	ck_assert_int_ne(_verify(token, NOW, &out), MLQ_TOKEN_OK);

	const char *good = "{\"cluster\":\"c1\",\"job\":1,\"uid\":1,\"iat\":1789999999,\"exp\":1790000001}";
	ck_assert_int_eq(_verify(_raw(good, JWT_ALG_HS256), NOW, &out), MLQ_TOKEN_OK);
	ck_assert_int_eq(_verify(_raw(good, JWT_ALG_NONE), NOW, &out), MLQ_TOKEN_FORGED);
	ck_assert_int_eq(_verify(_raw(good, JWT_ALG_HS512), NOW, &out), MLQ_TOKEN_FORGED);
}
END_TEST

START_TEST(malformed)
{
	static const char *const texts[] = { "", ".", "..", "...", "a.b.c", "e30.e30.", "Bearer x", "\xff.\xff.\xff" };
	char long_text[MLQ_TOKEN_MAX + 1];
	mlq_claims_t out;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_msg(_verify(texts[i], NOW, &out) == MLQ_TOKEN_MALFORMED, "%s", texts[i]);
	ck_assert_int_eq(_verify(NULL, NOW, &out), MLQ_TOKEN_MALFORMED);
	memset(long_text, 'a', MLQ_TOKEN_MAX);
	long_text[MLQ_TOKEN_MAX] = '\0';
	ck_assert_int_eq(_verify(long_text, NOW, &out), MLQ_TOKEN_MALFORMED);
}
END_TEST

START_TEST(claims_out_of_range)
{
	static const char *const cases[][2] = {
		{ "job", "{\"cluster\":\"c\",\"uid\":1,\"iat\":1,\"exp\":1800000000}" },
		{ "job", "{\"cluster\":\"c\",\"job\":0,\"uid\":1,\"iat\":1,\"exp\":1800000000}" },
		{ "job", "{\"cluster\":\"c\",\"job\":4294967296,\"uid\":1,\"iat\":1,\"exp\":1800000000}" },
		{ "job", "{\"cluster\":\"c\",\"job\":\"7\",\"uid\":1,\"iat\":1,\"exp\":1800000000}" },
		{ "uid", "{\"cluster\":\"c\",\"job\":1,\"iat\":1,\"exp\":1800000000}" },
		{ "uid", "{\"cluster\":\"c\",\"job\":1,\"uid\":-1,\"iat\":1,\"exp\":1800000000}" },
		{ "restarts", "{\"cluster\":\"c\",\"job\":1,\"uid\":1,\"restarts\":-1,\"iat\":1,\"exp\":1800000000}" },
		{ "iat", "{\"cluster\":\"c\",\"job\":1,\"uid\":1,\"exp\":1800000000}" },
		{ "iat", "{\"cluster\":\"c\",\"job\":1,\"uid\":1,\"iat\":-5,\"exp\":1800000000}" },
		{ "exp", "{\"cluster\":\"c\",\"job\":1,\"uid\":1,\"iat\":1}" },
		{ "exp", "{\"cluster\":\"c\",\"job\":1,\"uid\":1,\"iat\":5,\"exp\":5}" },
		{ "cluster", "{\"job\":1,\"uid\":1,\"iat\":1,\"exp\":1800000000}" },
		{ "cluster", "{\"cluster\":\"\",\"job\":1,\"uid\":1,\"iat\":1,\"exp\":1800000000}" },
		{ "cluster", "{\"cluster\":\"a b\",\"job\":1,\"uid\":1,\"iat\":1,\"exp\":1800000000}" },
		{ "cluster", "{\"cluster\":7,\"job\":1,\"uid\":1,\"iat\":1,\"exp\":1800000000}" },
		{ "role", "{\"role\":\"admin\",\"cluster\":\"c\",\"job\":1,\"uid\":1,\"iat\":1,\"exp\":1800000000}" },
		{ "role", "{\"role\":1,\"cluster\":\"c\",\"job\":1,\"uid\":1,\"iat\":1,\"exp\":1800000000}" },
	};
	char expected[64];
	mlq_claims_t out;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(_verify(_raw(cases[i][1], JWT_ALG_HS256), NOW, &out) == MLQ_TOKEN_MALFORMED, "%s",
			      cases[i][1]);
		snprintf(expected, sizeof(expected), "token: claim %s is", cases[i][0]);
		ck_assert_msg(strstr(error, expected) != NULL, "%s: %s", cases[i][1], error);
	}
}
END_TEST

START_TEST(mint_refuses)
{
	mlq_key_t key = _key(0);
	mlq_claims_t in = _job();

	in.job_id = 0;
	ck_assert_int_eq(mlq_token_mint(&in, &key, token, sizeof(token), error, sizeof(error)), -1);
	ck_assert_ptr_nonnull(strstr(error, "job:"));
	in = _job();
	in.expires = in.issued;
	ck_assert_int_eq(mlq_token_mint(&in, &key, token, sizeof(token), error, sizeof(error)), -1);
	in = _job();
	strcpy(in.cluster, "a\nb");
	ck_assert_int_eq(mlq_token_mint(&in, &key, token, sizeof(token), error, sizeof(error)), -1);
	in = _job();
	ck_assert_int_eq(mlq_token_mint(&in, &key, token, 20, error, sizeof(error)), -1);
	ck_assert_str_eq(token, "");
	key.size = MLQ_KEY_MIN - 1;
	ck_assert_int_eq(mlq_token_mint(&in, &key, token, sizeof(token), error, sizeof(error)), -1);
	ck_assert_ptr_nonnull(strstr(error, "31 bytes"));

	/* the longest claims fit */
	key = _key(0);
	memset(in.cluster, 'x', MLQ_CLUSTER_MAX - 1);
	in.restarts = UINT32_MAX;
	in.issued = INT64_MAX - 1;
	in.expires = INT64_MAX;
	ck_assert_int_eq(mlq_token_mint(&in, &key, token, sizeof(token), error, sizeof(error)), 0);
}
END_TEST

static const char *_file(const char *name, size_t size, mode_t mode)
{
	static char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_ptr_nonnull(file = fopen(path, "w"));
	for (size_t i = 0; i < size; i++)
		fputc((int) (i & 0xff), file);
	fclose(file);
	ck_assert_int_eq(chmod(path, mode), 0);
	return path;
}

START_TEST(key_files)
{
	mlq_key_t key, again;
	char path[128];
	struct stat st;

	ck_assert_int_eq(mlq_key_load(_file("a", MLQ_KEY_MIN, 0600), &key, error, sizeof(error)), 0);
	ck_assert_uint_eq(key.size, MLQ_KEY_MIN);
	ck_assert_uint_eq(key.bytes[31], 31);
	ck_assert_int_eq(mlq_key_load(_file("b", MLQ_KEY_MAX, 0440), &key, error, sizeof(error)), 0);
	ck_assert_int_eq(mlq_key_load(_file("c", MLQ_KEY_MIN - 1, 0600), &key, error, sizeof(error)), -1);
	ck_assert_ptr_nonnull(strstr(error, "has 31 bytes, 32 to 1024 are allowed"));
	ck_assert_uint_eq(key.size, 0);
	ck_assert_int_eq(mlq_key_load(_file("d", MLQ_KEY_MAX + 1, 0600), &key, error, sizeof(error)), -1);
	ck_assert_int_eq(mlq_key_load(_file("e", 64, 0604), &key, error, sizeof(error)), -1);
	ck_assert_ptr_nonnull(strstr(error, "mode 0604"));
	ck_assert_int_eq(mlq_key_load(_file("f", 64, 0620), &key, error, sizeof(error)), -1);
	ck_assert_int_eq(mlq_key_load(dir, &key, error, sizeof(error)), -1);
	ck_assert_ptr_nonnull(strstr(error, "not a regular file"));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(mlq_key_load(path, &key, error, sizeof(error)), -1);
	snprintf(path, sizeof(path), "%s/none", dir);
	ck_assert_int_eq(mlq_key_load(path, &key, error, sizeof(error)), -1);
	ck_assert_ptr_nonnull(strstr(error, path));

	ck_assert_int_eq(mlq_key_create(path, error, sizeof(error)), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(mlq_key_load(path, &key, error, sizeof(error)), 0);
	ck_assert_uint_eq(key.size, MLQ_KEY_MIN * 2);
	ck_assert_int_eq(mlq_key_create(path, error, sizeof(error)), -1);
	snprintf(path, sizeof(path), "%s/other", dir);
	ck_assert_int_eq(mlq_key_create(path, error, sizeof(error)), 0);
	ck_assert_int_eq(mlq_key_load(path, &again, error, sizeof(error)), 0);
	ck_assert_int_ne(memcmp(key.bytes, again.bytes, key.size), 0);
	mlq_key_wipe(&key);
	ck_assert_uint_eq(key.size, 0);
	ck_assert_uint_eq(key.bytes[0] | key.bytes[40], 0);
}
END_TEST

static void _make_dir(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void _remove_dir(void)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "fifo", "none", "other" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

int main(void)
{
	Suite *suite = suite_create("token");
	TCase *tokens = tcase_create("tokens"), *files = tcase_create("files");
	SRunner *runner;
	int failed;

	tcase_add_test(tokens, round_trip);
	tcase_add_test(tokens, times);
	tcase_add_test(tokens, forged);
	tcase_add_test(tokens, malformed);
	tcase_add_test(tokens, claims_out_of_range);
	tcase_add_test(tokens, mint_refuses);
	suite_add_tcase(suite, tokens);
	tcase_add_unchecked_fixture(files, _make_dir, _remove_dir);
	tcase_add_test(files, key_files);
	suite_add_tcase(suite, files);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
