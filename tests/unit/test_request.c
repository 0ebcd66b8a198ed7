/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/request/batch_split.h"
#include "core/request/quality_request.h"

#define DEFAULTS .goal = MLQ_GOAL_MIN, .cores_per_unit = 1

typedef struct {
  const char* text;
  mlq_request_t want;
} good_t;

static const good_t good[] = {
    {NULL, {DEFAULTS}},
    {"", {DEFAULTS}},
    {"on", {DEFAULTS}},
    {"off", {DEFAULTS, .off = true}},
    {"off,off", {DEFAULTS, .off = true}},
    {"goal=min", {DEFAULTS}},
    {"goal=max", {.goal = MLQ_GOAL_MAX, .cores_per_unit = 1}},
    {"target=0.05", {DEFAULTS, .target_kind = MLQ_TARGET_LOSS, .target = 0.05}},
    {"target=-1.5e-3", {DEFAULTS, .target_kind = MLQ_TARGET_LOSS, .target = -1.5e-3}},
    {"target=+.5", {DEFAULTS, .target_kind = MLQ_TARGET_LOSS, .target = 0.5}},
    {"target=3.", {DEFAULTS, .target_kind = MLQ_TARGET_LOSS, .target = 3}},
    {"target=0", {DEFAULTS, .target_kind = MLQ_TARGET_LOSS, .target = 0}},
    {"target=0.30000000000000004", {DEFAULTS, .target_kind = MLQ_TARGET_LOSS, .target = 0.1 + 0.2}},
    {"target=1.7976931348623157e308",
     {DEFAULTS, .target_kind = MLQ_TARGET_LOSS, .target = 1.7976931348623157e308}},
    {"target=95%", {DEFAULTS, .target_kind = MLQ_TARGET_FRACTION, .target = 0.95}},
    {"target=100%", {DEFAULTS, .target_kind = MLQ_TARGET_FRACTION, .target = 1}},
    {"target=0.5%", {DEFAULTS, .target_kind = MLQ_TARGET_FRACTION, .target = 0.005}},
    {"min=1", {DEFAULTS, .min_units = 1}},
    {"max=1000000", {DEFAULTS, .max_units = 1000000}},
    {"min=4,max=4", {DEFAULTS, .min_units = 4, .max_units = 4}},
    {"max=8,min=2", {DEFAULTS, .min_units = 2, .max_units = 8}},
    {"unit=core", {DEFAULTS}},
    {"unit=1", {DEFAULTS}},
    {"unit=gpu", {DEFAULTS, .unit = MLQ_UNIT_GPU}},
    {"unit=node", {DEFAULTS, .unit = MLQ_UNIT_NODE}},
    {"unit=2", {.unit = MLQ_UNIT_CORES, .cores_per_unit = 2}},
    {"unit=4096", {.unit = MLQ_UNIT_CORES, .cores_per_unit = 4096}},
    {"iterations=1", {DEFAULTS, .iterations = 1}},
    {"iterations=1000000000000000", {DEFAULTS, .iterations = 1000000000000000}},
    {"batch=1000000000000", {DEFAULTS, .batch = 1000000000000}},
    {"batch=00256", {DEFAULTS, .batch = 256}},
    {"family=resnet-50_v1.5+aug", {DEFAULTS, .family = "resnet-50_v1.5+aug"}},
    {"family=123456789012345678901234567890123456789012345678901234567890123",
     {DEFAULTS, .family = "123456789012345678901234567890123456789012345678901234567890123"}},
    {"resize=none", {DEFAULTS}},
    {"resize=companion", {DEFAULTS, .resize = MLQ_RESIZE_COMPANION}},
    {"resize=requeue", {DEFAULTS, .resize = MLQ_RESIZE_REQUEUE}},
    {"companion=1", {DEFAULTS, .companion = 1}},
    {"companion=4294967293", {DEFAULTS, .companion = 4294967293}},
    {"companion=17,companion=17", {DEFAULTS, .companion = 17}},
    {"min=2,min=2", {DEFAULTS, .min_units = 2}},
    {"goal=max,target=90%,min=1,max=16,unit=4,iterations=5000,batch=512,family=a,resize=requeue",
     {.goal = MLQ_GOAL_MAX,
      .target_kind = MLQ_TARGET_FRACTION,
      .target = 0.9,
      .min_units = 1,
      .max_units = 16,
      .unit = MLQ_UNIT_CORES,
      .cores_per_unit = 4,
      .iterations = 5000,
      .batch = 512,
      .family = "a",
      .resize = MLQ_RESIZE_REQUEUE}},
};

static void same(const mlq_request_t* got, const mlq_request_t* want) {
  ck_assert_int_eq(got->off, want->off);
  ck_assert_int_eq(got->goal, want->goal);
  ck_assert_int_eq(got->target_kind, want->target_kind);
  ck_assert_double_eq(got->target, want->target);
  ck_assert_uint_eq(got->min_units, want->min_units);
  ck_assert_uint_eq(got->max_units, want->max_units);
  ck_assert_int_eq(got->unit, want->unit);
  ck_assert_uint_eq(got->cores_per_unit, want->cores_per_unit);
  ck_assert_uint_eq(got->iterations, want->iterations);
  ck_assert_uint_eq(got->batch, want->batch);
  ck_assert_str_eq(got->family, want->family);
  ck_assert_int_eq(got->resize, want->resize);
  ck_assert_uint_eq(got->companion, want->companion);
}

START_TEST(good_input) {
  char error[MLQ_REQUEST_ERROR_MAX];
  mlq_request_t got;
  int rc;

  memset(&got, 0xa5, sizeof(got));
  rc = mlq_request_parse(good[_i].text, &got, error, sizeof(error));
  ck_assert_msg(rc == 0, "\"%s\" was refused: %s", good[_i].text, error);
  ck_assert_str_eq(error, "");
  same(&got, &good[_i].want);
}
END_TEST

#define ALL "allowed: goal, target, min, max, unit, iterations, batch, family, resize, companion, on, off"
#define UNITS "allowed: a whole number from 1 to 1000000"
#define TARGET "allowed: a decimal number such as 0.05, or more than 0% to 100% such as 95%"
#define COMPANION "allowed: a job id from 1 to 4294967293, no other key"
#define FAMILY "allowed: 1 to 63 of the characters A-Z a-z 0-9 . _ + -"

static const struct {
  const char *text, *error;
} bad[] = {
    {"gaol=min", "unknown key: given \"gaol\"; " ALL},
    {"Goal=min", "unknown key: given \"Goal\"; " ALL},
    {"goal =min", "unknown key: given \"goal \"; " ALL},
    {" min=1", "unknown key: given \" min\"; " ALL},
    {"=1", "unknown key: given \"\"; " ALL},
    {"1", "unknown key: given \"1\"; " ALL},
    {"\033[2Jx\n=1", "unknown key: given \"?[2Jx?\"; " ALL},
    {"a234567890123456789012345678901234567890123=1",
     "unknown key: given \"a234567890123456789012345678901234567890...\"; " ALL},
    {",", "key: given \"\" (a comma too many); " ALL},
    {"min=1,", "key: given \"\" (a comma too many); " ALL},
    {",min=1", "key: given \"\" (a comma too many); " ALL},
    {"min=1,,max=2", "key: given \"\" (a comma too many); " ALL},
    {"goal", "goal: given no value; allowed: min or max"},
    {"goal=", "goal: given \"\"; allowed: min or max"},
    {"goal=MIN", "goal: given \"MIN\"; allowed: min or max"},
    {"goal=minimum", "goal: given \"minimum\"; allowed: min or max"},
    {"goal=min=max", "goal: given \"min=max\"; allowed: min or max"},
    {"target=", "target: given \"\"; " TARGET},
    {"target=%", "target: given \"%\"; " TARGET},
    {"target=0%", "target: given \"0%\"; " TARGET},
    {"target=-5%", "target: given \"-5%\"; " TARGET},
    {"target=100.0001%", "target: given \"100.0001%\"; " TARGET},
    {"target=95%%", "target: given \"95%%\"; " TARGET},
    {"target=0x1p3", "target: given \"0x1p3\"; " TARGET},
    {"target=inf", "target: given \"inf\"; " TARGET},
    {"target=-Infinity", "target: given \"-Infinity\"; " TARGET},
    {"target=nan", "target: given \"nan\"; " TARGET},
    {"target=1e309", "target: given \"1e309\"; " TARGET},
    {"target=1e-400", "target: given \"1e-400\"; " TARGET},
    {"target=1e", "target: given \"1e\"; " TARGET},
    {"target=1e+", "target: given \"1e+\"; " TARGET},
    {"target=.", "target: given \".\"; " TARGET},
    {"target=-", "target: given \"-\"; " TARGET},
    {"target=+-1", "target: given \"+-1\"; " TARGET},
    {"target=1.2.3", "target: given \"1.2.3\"; " TARGET},
    {"target= 1", "target: given \" 1\"; " TARGET},
    {"target=1 ", "target: given \"1 \"; " TARGET},
    {"target=0.0000000000000000000000000000000000000000000001",
     "target: given \"0.00000000000000000000000000000000000000...\"; " TARGET},
    {"min=0", "min: given \"0\"; " UNITS},
    {"min=-1", "min: given \"-1\"; " UNITS},
    {"min=+1", "min: given \"+1\"; " UNITS},
    {"min=1.0", "min: given \"1.0\"; " UNITS},
    {"min=1e3", "min: given \"1e3\"; " UNITS},
    {"min=0x10", "min: given \"0x10\"; " UNITS},
    {"min=4k", "min: given \"4k\"; " UNITS},
    {"max=1000001", "max: given \"1000001\"; " UNITS},
    {"max=4294967297", "max: given \"4294967297\"; " UNITS},
    {"max=18446744073709551617", "max: given \"18446744073709551617\"; " UNITS},
    {"max=184467440737095516160", "max: given \"184467440737095516160\"; " UNITS},
    {"min=5,max=4", "min: given 5 with max=4; allowed: min not above max"},
    {"unit=cores", "unit: given \"cores\"; allowed: core, gpu, node or a number of cores from 1 to 4096"},
    {"unit=0", "unit: given \"0\"; allowed: core, gpu, node or a number of cores from 1 to 4096"},
    {"unit=4097", "unit: given \"4097\"; allowed: core, gpu, node or a number of cores from 1 to 4096"},
    {"iterations=0", "iterations: given \"0\"; allowed: a whole number from 1 to 1000000000000000"},
    {"iterations=1000000000000001",
     "iterations: given \"1000000000000001\"; allowed: a whole number from 1 to 1000000000000000"},
    {"batch=0", "batch: given \"0\"; allowed: a whole number from 1 to 1000000000000"},
    {"batch=1000000000001",
     "batch: given \"1000000000001\"; allowed: a whole number from 1 to 1000000000000"},
    {"family=", "family: given \"\"; " FAMILY},
    {"family=a b", "family: given \"a b\"; " FAMILY},
    {"family=../x", "family: given \"../x\"; " FAMILY},
    {"family=r\xc3\xa9seau", "family: given \"r??seau\"; " FAMILY},
    {"family=1234567890123456789012345678901234567890123456789012345678901234",
     "family: given \"1234567890123456789012345678901234567890...\"; " FAMILY},
    {"resize=yes", "resize: given \"yes\"; allowed: none, companion or requeue"},
    {"companion", "companion: given no value; " COMPANION},
    {"companion=", "companion: given \"\"; " COMPANION},
    {"companion=0", "companion: given \"0\"; " COMPANION},
    {"companion=-7", "companion: given \"-7\"; " COMPANION},
    {"companion=17_3", "companion: given \"17_3\"; " COMPANION},
    {"companion=17.batch", "companion: given \"17.batch\"; " COMPANION},
    {"companion=4294967294", "companion: given \"4294967294\"; " COMPANION},
    {"companion=4294967297", "companion: given \"4294967297\"; " COMPANION},
    {"companion=7,resize=none", "companion: given with other keys; " COMPANION},
    {"min=1,companion=7", "companion: given with other keys; " COMPANION},
    {"companion=7,companion=8", "companion: given twice, \"7\" and \"8\"; allowed: one value"},
    {"on=1", "on: given \"1\"; allowed: the word alone"},
    {"off=", "off: given \"\"; allowed: the word alone"},
    {"off,min=1", "off: given with other keys; allowed: the word alone"},
    {"goal=min,on", "on: given with other keys; allowed: the word alone"},
    {"on,off", "off: given with other keys; allowed: the word alone"},
    {"min=1,min=2", "min: given twice, \"1\" and \"2\"; allowed: one value"},
    {"goal=min,max=2,goal=max", "goal: given twice, \"min\" and \"max\"; allowed: one value"},
    {"target=95%,target=0.95", "target: given twice, \"95%\" and \"0.95\"; allowed: one value"},
};

START_TEST(bad_input) {
  static const mlq_request_t defaults = {DEFAULTS};
  char error[MLQ_REQUEST_ERROR_MAX];
  mlq_request_t got;

  memset(&got, 0xa5, sizeof(got));
  ck_assert_int_eq(mlq_request_parse(bad[_i].text, &got, error, sizeof(error)), -1);
  ck_assert_str_eq(error, bad[_i].error);
  same(&got, &defaults);
}
END_TEST

START_TEST(length_is_bounded) {
  char text[MLQ_REQUEST_MAX + 1], error[MLQ_REQUEST_ERROR_MAX];
  mlq_request_t got;
  size_t n = 0;

  /* 1023 bytes pass, 1024 do not: "min=1" and then ",min=1" again and again. */
  while (n + 6 <= MLQ_REQUEST_MAX - 1)
    n += (size_t)snprintf(text + n, sizeof(text) - n, "%smin=1", n ? "," : "");
  memset(text + n, 0, sizeof(text) - n);
  ck_assert_int_eq(mlq_request_parse(text, &got, error, sizeof(error)), 0);
  ck_assert_uint_eq(got.min_units, 1);

  memset(text, '0', sizeof(text));
  memcpy(text, "batch=", 6);
  text[MLQ_REQUEST_MAX - 2] = '7';
  text[MLQ_REQUEST_MAX - 1] = '\0';
  ck_assert_int_eq(mlq_request_parse(text, &got, error, sizeof(error)), 0);
  ck_assert_uint_eq(got.batch, 7);

  text[MLQ_REQUEST_MAX - 1] = '7';
  text[MLQ_REQUEST_MAX] = '\0';
  ck_assert_int_eq(mlq_request_parse(text, &got, error, sizeof(error)), -1);
  ck_assert_str_eq(error, "the option: given more than 1023 bytes; allowed: at most 1023");
}
END_TEST

START_TEST(error_buffer) {
  mlq_request_t got;
  char small[8] = "#######";

  ck_assert_int_eq(mlq_request_parse("goal=x", &got, NULL, 0), -1);
  ck_assert_int_eq(mlq_request_parse("goal=x", &got, small, 0), -1);
  ck_assert_str_eq(small, "#######");
  ck_assert_int_eq(mlq_request_parse("goal=x", &got, small, sizeof(small)), -1);
  ck_assert_str_eq(small, "goal: g");
}
END_TEST

/* A program that runs in German must read 0.5 as 0.5, and refuse 0,5 (two items anyway). */
START_TEST(locale_changes_nothing) {
  static const char* const comma_locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
  mlq_request_t got;
  bool set = false;

  for (size_t i = 0; i < sizeof(comma_locales) / sizeof(comma_locales[0]) && !set; i++)
    set = setlocale(LC_ALL, comma_locales[i]) != NULL;
  ck_assert_int_eq(mlq_request_parse("target=0.5", &got, NULL, 0), 0);
  ck_assert_double_eq(got.target, 0.5);
  ck_assert_int_eq(mlq_request_parse("target=0,5", &got, NULL, 0), -1);
  setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(split_sums_exactly) {
  static const struct {
    uint64_t batch;
    uint32_t ranks;
  } cases[] = {{256, 8}, {257, 8}, {7, 8}, {1, 1}, {0, 3}, {MLQ_BATCH_MAX, 4099}, {UINT64_MAX, 7}};

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    uint64_t next = 0, size, offset, first = 0;

    for (uint32_t r = 0; r < cases[i].ranks; r++) {
      ck_assert_int_eq(mlq_batch_split(cases[i].batch, cases[i].ranks, r, &size, &offset), 0);
      ck_assert_uint_eq(offset, next);
      first = r ? first : size;
      ck_assert_uint_le(size, first);
      ck_assert_uint_le(first - size, 1);
      next += size;
    }
    ck_assert_uint_eq(next, cases[i].batch);
  }
}
END_TEST

START_TEST(split_of_eleven_over_four) {
  static const uint64_t sizes[] = {3, 3, 3, 2}, offsets[] = {0, 3, 6, 9};
  uint64_t size = 99, offset = 99;

  for (uint32_t r = 0; r < 4; r++) {
    ck_assert_int_eq(mlq_batch_split(11, 4, r, &size, &offset), 0);
    ck_assert_uint_eq(size, sizes[r]);
    ck_assert_uint_eq(offset, offsets[r]);
  }
  size = 99;
  ck_assert_int_eq(mlq_batch_split(11, 4, 4, &size, &offset), -1);
  ck_assert_int_eq(mlq_batch_split(11, 0, 0, &size, &offset), -1);
  ck_assert_uint_eq(size, 99);
}
END_TEST

int main(void) {
  Suite* suite = suite_create("request");
  TCase *parse = tcase_create("parse"), *split = tcase_create("split");
  SRunner* runner = srunner_create(suite);
  int failed;

  tcase_add_loop_test(parse, good_input, 0, sizeof(good) / sizeof(good[0]));
  tcase_add_loop_test(parse, bad_input, 0, sizeof(bad) / sizeof(bad[0]));
  tcase_add_test(parse, length_is_bounded);
  tcase_add_test(parse, error_buffer);
  tcase_add_test(parse, locale_changes_nothing);
  tcase_add_test(split, split_sums_exactly);
  tcase_add_test(split, split_of_eleven_over_four);
  suite_add_tcase(suite, parse);
  suite_add_tcase(suite, split);
  srunner_run_all(runner, CK_ENV);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
