// SPDX-License-Identifier: GPL-2.0-or-later
#include <string>
#include <vector>

#include "slurm-plugin/engine/engine.h"
#include "tests/unit/test_engine.hpp"

namespace {

std::vector<std::string> lines;

void keep_line(mlq_log_level_t, const char* line) {
  lines.emplace_back(line);
}

mlq_config_t parse(const char* text) {
  mlq_config_t config{};
  lines.clear();
  mlq_config_parse(text, &config, keep_line);
  return config;
}

void check_one_line(const char* part) {
  ck_assert_uint_eq(lines.size(), 1);
  ck_assert_msg(lines[0].find(part) != std::string::npos, "\"%s\" lacks \"%s\"", lines[0].c_str(), part);
}

START_TEST(nothing_given) {
  for (const char* text : {static_cast<const char*>(nullptr), "", "bf_interval=30,defer"}) {
    const mlq_config_t c = parse(text);
    ck_assert_int_eq(c.mode, MLQ_MODE_ACTIVE);
    ck_assert_uint_eq(c.interval_s, 3);
    ck_assert_uint_eq(c.weight, 10000);
    ck_assert_uint_eq(c.horizon_s, 60);
    ck_assert_uint_eq(c.timeout_ms, 1000);
    ck_assert_str_eq(c.url, "unix:/run/mlqd/mlqd.sock");
    ck_assert_str_eq(c.key_file, "");
    ck_assert_int_eq(c.resize, MLQ_RESIZING_COMPANION);
    ck_assert_uint_eq(c.lead_s, 30);
    ck_assert_uint_eq(c.dwell_s, 60);
    ck_assert_double_eq(c.tail, 0.4);
    ck_assert_str_eq(c.resize_partitions, "");
    ck_assert_str_eq(c.resize_accounts, "");
    ck_assert_uint_eq(lines.size(), 0);
  }
}
END_TEST

START_TEST(everything_given) {
  const mlq_config_t c = parse(
      "defer,mlq_interval=7, MLQ_Weight=0 ,mlq_horizon=86400,mlq_timeout=10,mlq_mode=dry-run,"
      "mlq_url=https://mlq.example:6850,mlq_key=/etc/slurm/mlq.key,mlq_resize=all,mlq_lead=5,mlq_dwell=0,"
      "mlq_tail=0.25,mlq_resize_partitions=gpu+long,mlq_resize_accounts=physics,bf_max_job_test=5");
  ck_assert_int_eq(c.resize, MLQ_RESIZING_ALL);
  ck_assert_uint_eq(c.lead_s, 5);
  ck_assert_uint_eq(c.dwell_s, 0);
  ck_assert_double_eq(c.tail, 0.25);
  ck_assert_str_eq(c.resize_partitions, "gpu+long");
  ck_assert_str_eq(c.resize_accounts, "physics");
  ck_assert_uint_eq(lines.size(), 0);
  ck_assert_int_eq(c.mode, MLQ_MODE_DRY_RUN);
  ck_assert_uint_eq(c.interval_s, 7);
  ck_assert_uint_eq(c.weight, 0);
  ck_assert_uint_eq(c.horizon_s, 86400);
  ck_assert_uint_eq(c.timeout_ms, 10);
  ck_assert_str_eq(c.url, "https://mlq.example:6850");
  ck_assert_str_eq(c.key_file, "/etc/slurm/mlq.key");
}
END_TEST

/* A prefix of another key, or a key inside another token, must not match. */
START_TEST(exact_keys) {
  ck_assert_uint_eq(parse("mlq_weight2=5").weight, 10000);
  check_one_line("unknown key mlq_weight2");
  ck_assert_uint_eq(parse("mlq_weigh=5").weight, 10000);
  check_one_line("unknown key mlq_weigh,");
  ck_assert_uint_eq(parse("xmlq_weight=5").weight, 10000);
  ck_assert_uint_eq(lines.size(), 0);
  parse("mlq_=1");
  check_one_line("unknown key mlq_");
  parse("mlq_interval");
  check_one_line("mlq_interval=:");
}
END_TEST

START_TEST(wrong_numbers) {
  for (const char* text :
       {"mlq_interval=0", "mlq_interval=3601", "mlq_interval=-1", "mlq_interval=+2", "mlq_interval=2s",
        "mlq_interval=0x2", "mlq_interval=1e1", "mlq_interval=", "mlq_interval=2.0",
        "mlq_interval=4294967299", "mlq_interval=99999999999999999999"}) {
    ck_assert_msg(parse(text).interval_s == 3, "%s was taken", text);
    check_one_line("a whole number from 1 to 3600 is allowed, using 3");
  }
  ck_assert_uint_eq(parse("mlq_interval=3600").interval_s, 3600);
  ck_assert_uint_eq(parse("mlq_weight=1000000").weight, 1000000);
  ck_assert_uint_eq(parse("mlq_weight=1000001").weight, 10000);
}
END_TEST

START_TEST(wrong_words) {
  ck_assert_int_eq(parse("mlq_mode=dryrun").mode, MLQ_MODE_ACTIVE);
  check_one_line("mlq_mode=dryrun: active, dry-run or off");
  for (const char* text :
       {"mlq_url=unix:", "mlq_url=unix:/", "mlq_url=unix:relative", "mlq_url=ftp://h", "mlq_url=http://",
        "mlq_url=/run/x", "mlq_url=http://user@h", "mlq_url=http://h/path", "mlq_url=http://h x"}) {
    ck_assert_msg(std::string(parse(text).url) == "unix:/run/mlqd/mlqd.sock", "%s was taken", text);
  }
  const std::string long_path = "mlq_url=unix:/" + std::string(107, 'a');
  ck_assert(std::string(parse(long_path.c_str()).url) == "unix:/run/mlqd/mlqd.sock");
  const std::string fits = "mlq_url=unix:/" + std::string(106, 'a');
  ck_assert_uint_eq(std::string(parse(fits.c_str()).url).size(), fits.size() - 8);
  ck_assert(std::string(parse("mlq_key=relative").key_file) == "");
  check_one_line("mlq_key=relative");
}
END_TEST

START_TEST(wrong_sizes) {
  ck_assert_int_eq(parse("mlq_resize=on").resize, MLQ_RESIZING_COMPANION);
  check_one_line("mlq_resize=on: off, companion, requeue or all is allowed, using companion");
  ck_assert_int_eq(parse("mlq_resize=OFF").resize, MLQ_RESIZING_OFF);
  ck_assert_int_eq(parse("mlq_resize=Requeue").resize, MLQ_RESIZING_REQUEUE);
  ck_assert_uint_eq(parse("mlq_requeue_grace=0").requeue_grace_s, 300);
  check_one_line("mlq_requeue_grace=0: a whole number from 1 to 86400 is allowed, using 300");
  for (const char* text : {"mlq_tail=-1", "mlq_tail=101", "mlq_tail=", "mlq_tail=nan", "mlq_tail=0.1x"}) {
    ck_assert_msg(parse(text).tail == 0.4, "%s was taken", text);
    check_one_line("a number from 0 to 100 is allowed, using 0.4");
  }
  parse("mlq_lead=0");
  check_one_line("a whole number from 1 to 3600 is allowed, using 30");
  // a list that can't be read must not open what it was to close
  ck_assert(std::string(parse("mlq_resize_partitions=").resize_partitions) == "+");
  check_one_line("none is resized");
  parse(("mlq_resize_accounts=" + std::string(600, 'a')).c_str());
  check_one_line("at most 511 bytes");
}
END_TEST

START_TEST(url_without_key) {
  parse("mlq_url=http://localhost:6850");
  check_one_line("needs mlq_key");
}
END_TEST

/* What an admin typed goes to a log: no control characters, no format directives. */
START_TEST(hostile_text) {
  parse("mlq_\033[31m%n%s=1");
  ck_assert_uint_eq(lines.size(), 1);
  ck_assert(lines[0].find('\033') == std::string::npos);
  ck_assert(lines[0].find("%n%s") != std::string::npos);
  parse(("mlq_" + std::string(5000, 'x')).c_str());
  ck_assert_uint_lt(lines[0].size(), 1024);
}
END_TEST

}  // namespace

TCase* config_cases() {
  TCase* tests = tcase_create("config");
  tcase_add_test(tests, nothing_given);
  tcase_add_test(tests, everything_given);
  tcase_add_test(tests, exact_keys);
  tcase_add_test(tests, wrong_numbers);
  tcase_add_test(tests, wrong_words);
  tcase_add_test(tests, wrong_sizes);
  tcase_add_test(tests, url_without_key);
  tcase_add_test(tests, hostile_text);
  return tests;
}
