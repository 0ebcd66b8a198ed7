/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SPANK plugin's arguments and lists. */
#include "slurm-plugin/spank/config.h"
#include "slurm-plugin/spank/cores.h"
#include "tests/unit/spank_fixture.h"

static const struct {
  char *arg, *error; /* NULL = accepted */
} config_cases[] = {
    {"token_days=1", NULL},
    {"token_days=366", NULL},
    {"token_days=0", "token_days: given \"0\"; allowed: a whole number from 1 to 366"},
    {"token_days=367", "token_days: given \"367\"; allowed: a whole number from 1 to 366"},
    {"token_days=0x1", "token_days: given \"0x1\"; allowed: a whole number from 1 to 366"},
    {"token_days=", "token_days: given \"\"; allowed: a whole number from 1 to 366"},
    {"token_days", "token_days: given \"\"; allowed: a whole number from 1 to 366"},
    {"cluster=c2", "cluster: given twice; allowed: one value"},
    {"Url=http://h", "unknown argument: given \"Url=http://h\"; allowed: url, key, cluster, token_days"},
    {"", "unknown argument: given \"\"; allowed: url, key, cluster, token_days"},
};

START_TEST(config_argument) {
  char* av[] = {"url=http://h:6850", "key=/k", "cluster=c1", config_cases[_i].arg};
  char error[256] = "";
  config_t config;
  int rc = config_parse(4, av, &config, error, sizeof(error));

  ck_assert_int_eq(rc, config_cases[_i].error ? -1 : 0);
  ck_assert_str_eq(error, config_cases[_i].error ? config_cases[_i].error : "");
}
END_TEST

static const struct {
  char *url, *key, *cluster;
  int rc;
} required_cases[] = {
    {"url=https://[fd00::1]:6850/mlq", "key=/etc/slurm/mlq.key", "cluster=big-1", 0},
    {"url=ftp://h", "key=/k", "cluster=c", -1},
    {"url=http://", "key=/k", "cluster=c", -1},
    {"url=http://:80", "key=/k", "cluster=c", -1},
    {"url=http://u:p@h", "key=/k", "cluster=c", -1},
    {"url=http://h\n", "key=/k", "cluster=c", -1},
    {"url=HTTP://h", "key=/k", "cluster=c", -1},
    {"url=http://h", "key=k", "cluster=c", -1},
    {"url=http://h", "key=", "cluster=c", -1},
    {"url=http://h", "key=/k", "cluster=", -1},
    {"url=http://h", "key=/k", "cluster=a b", -1},
    {"url=http://h", "key=/k", "cluster=a\"b", -1},
    {"url=http://h", "key=/k", "cluster=123456789012345678901234567890123456789012345678901234567890123", 0},
    {"url=http://h", "key=/k", "cluster=1234567890123456789012345678901234567890123456789012345678901234",
     -1},
};

START_TEST(config_required) {
  char* av[] = {required_cases[_i].url, required_cases[_i].key, required_cases[_i].cluster};
  char error[256];
  config_t config;

  ck_assert_int_eq(config_parse(3, av, &config, error, sizeof(error)), required_cases[_i].rc);
  if (!required_cases[_i].rc) ck_assert_uint_eq(config.token_days, CONFIG_TOKEN_DAYS_DEFAULT);
}
END_TEST

START_TEST(cores_of_a_list) {
  static const struct {
    const char* text;
    uint32_t sum;
  } cases[] = {
      {"8", 8},
      {"8,4", 12},
      {"8(x2),4", 20},
      {"72(x4096)", 294912},
      {"", 0},
      {"8,", 0},
      {",8", 0},
      {"8(x2", 0},
      {"8(x)", 0},
      {"8(x0)", 0},
      {"-8", 0},
      {"8 ", 0},
      {"8x2", 0},
      {"8(2)", 0},
      {"0", 0},
      {"4294967296", 0},
      {"65536(x65536)", 0},
      {"4294967295,1", 0},
  };

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    ck_assert_msg(cores_sum(cases[i].text) == cases[i].sum, "%s", cases[i].text);
}
END_TEST

TCase* spank_text_case(void) {
  TCase* text = tcase_create("text");

  tcase_add_loop_test(text, config_argument, 0, sizeof(config_cases) / sizeof(config_cases[0]));
  tcase_add_loop_test(text, config_required, 0, sizeof(required_cases) / sizeof(required_cases[0]));
  tcase_add_test(text, cores_of_a_list);
  return text;
}
