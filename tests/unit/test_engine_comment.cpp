// SPDX-License-Identifier: GPL-2.0-or-later
#include <jansson.h>

#include <string>

#include "core/wire/wire.hpp"
#include "slurm-plugin/engine/admin_comment.hpp"
#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/engine/gain_meter.hpp"
#include "tests/unit/test_engine.hpp"

namespace {

using mlq::engine::CommentFields;
using mlq::engine::merge_comment;
using mlq::engine::read_comment;

CommentFields sample() {
  CommentFields fields;
  fields.loss = 0.123456789;
  fields.first = 2.5;
  fields.best = 0.12;
  fields.fraction = 0.95;
  fields.gain_pred = 0.4;
  fields.gain_real = 0.38;
  fields.core_s = 1200;
  fields.iter = 5000;
  fields.verdict = "improving";
  fields.ranks = {5, 3, 1};
  return fields;
}

mlq::wire::Json parsed(const std::string& text) {
  mlq::wire::Json value(json_loads(text.c_str(), JSON_REJECT_DUPLICATES, nullptr));
  ck_assert_msg(value && json_is_object(value.get()), "no JSON object: %s", text.c_str());
  return value;
}

START_TEST(whole_text) {
  const auto text = merge_comment("", sample());
  ck_assert_str_eq(
      text->c_str(),
      "{\"mlq\":{\"v\":1,\"loss\":0.123457,\"first\":2.5,\"best\":0.12,\"fraction\":0.95,\"gain_pred\":0.4,"
      "\"gain_real\":0.38,\"core_s\":1200,\"iter\":5000,\"verdict\":\"improving\",\"ranks\":[5,3,1]}}");
}
END_TEST

START_TEST(reads_back) {
  CommentFields in = sample();
  in.core_s_before = 300;
  in.restarts = 2;
  in.site = 7000;
  in.final = true;
  const auto out = read_comment(*merge_comment("", in));
  ck_assert(out.has_value());
  ck_assert_double_eq_tol(*out->loss, *in.loss, 1e-6);
  ck_assert_double_eq(*out->core_s, 1200);
  ck_assert_double_eq(*out->core_s_before, 300);
  ck_assert_uint_eq(out->restarts, 2);
  ck_assert_uint_eq(out->site, 7000);
  ck_assert(out->final);
  ck_assert(out->ranks == in.ranks);
  ck_assert_str_eq(out->verdict.c_str(), "improving");
}
END_TEST

START_TEST(foreign_text_is_not_ours) {
  for (const char* text :
       {"", "hello", "{}", "{\"mlq\":1}", "{\"mlq\":{}}", "{\"mlq\":{\"v\":2}}", "{\"mlq\":{\"v\":\"1\"}}",
        "[1]", "{\"mlq\":{\"v\":1}", "{\"mlq\":{\"v\":1},\"mlq\":{\"v\":1}}"}) {
    ck_assert_msg(!read_comment(text).has_value(), "%s", text);
  }
}
END_TEST

/* A site's JSON stays byte for byte, in numbers and spacing too, however often ours is renewed. */
START_TEST(site_object_stays) {
  const std::string site = "{ \"project\" : \"a\\u00e9\", \"cost\":0.10,\"n\":[1, 2]";
  auto text = merge_comment(site + "}", sample());
  for (int i = 0; i < 3; i++) {
    ck_assert(text->starts_with(site + ",\"mlq\":{"));
    CommentFields next = sample();
    next.iter = i;
    text = merge_comment(*text, next);
    ck_assert_double_eq(*read_comment(*text)->iter, i);
  }
  const auto empty = merge_comment(" { } ", sample());
  ck_assert_uint_eq(json_object_size(parsed(*empty).get()), 1);
}
END_TEST

/* Somebody put a member behind ours, or one that looks like ours inside his own. */
START_TEST(ours_in_the_middle) {
  const auto text =
      merge_comment("{\"a\":1,\"mlq\":{\"v\":1,\"loss\":9},\"b\":{\"mlq\":{\"v\":1}}}", sample());
  const auto object = parsed(*text);
  ck_assert_int_eq(json_integer_value(json_object_get(object.get(), "a")), 1);
  ck_assert(json_is_object(json_object_get(json_object_get(object.get(), "b"), "mlq")));
  ck_assert_double_eq_tol(*read_comment(*text)->loss, 0.123457, 1e-9);
  ck_assert_uint_eq(json_object_size(object.get()), 3);
}
END_TEST

START_TEST(site_text_is_wrapped) {
  for (const char* site :
       {"billed to 42", "say \"hi\" \\ \n tab\t", "[1,2]", "{not json", "\"str\"", "{\"mlq\":}"}) {
    auto text = merge_comment(site, sample());
    text = merge_comment(*text, sample());
    const auto object = parsed(*text);
    ck_assert_str_eq(json_string_value(json_object_get(object.get(), "site")), site);
    ck_assert_uint_eq(json_object_size(object.get()), 2);
    ck_assert(text->find('\n') == std::string::npos);
  }
}
END_TEST

START_TEST(not_utf8_is_left_alone) {
  ck_assert(!merge_comment("caf\xe9", sample()).has_value());
}
END_TEST

START_TEST(ours_is_shortened) {
  bool without_ranks = false, least = false, none = false;
  for (std::size_t length = 0; length < 1100; length++) {
    const std::string site(length, 's');
    const auto text = merge_comment(site, sample());
    if (!text) {
      none = true;
      ck_assert_uint_gt(length, 900);
      continue;
    }
    ck_assert(!none);
    ck_assert_uint_le(text->size(), MLQ_ADMIN_COMMENT_MAX);
    const auto object = parsed(*text);
    if (length > 0) ck_assert_str_eq(json_string_value(json_object_get(object.get(), "site")), site.c_str());
    const auto fields = read_comment(*text);
    ck_assert(fields && fields->loss && fields->fraction);
    without_ranks |= fields->ranks.empty() && !fields->verdict.empty();
    least |= fields->verdict.empty();
  }
  ck_assert(without_ranks && least && none);
}
END_TEST

START_TEST(no_number_that_is_none) {
  CommentFields fields;
  fields.loss = NAN;
  fields.best = INFINITY;
  fields.iter = 1e300;
  fields.verdict = "no_data";
  const auto text = merge_comment("", fields);
  ck_assert_str_eq(text->c_str(), "{\"mlq\":{\"v\":1,\"iter\":1e300,\"verdict\":\"no_data\"}}");
}
END_TEST

START_TEST(rank_history_is_short) {
  CommentFields fields;
  fields.verdict = "no_data";
  for (std::uint32_t i = 1; i <= 20; i++) fields.ranks.push_back(i);
  const auto back = read_comment(*merge_comment("", fields));
  ck_assert_uint_eq(back->ranks.size(), CommentFields::max_ranks);
  ck_assert_uint_eq(back->ranks.back(), 20);
}
END_TEST

START_TEST(realised_gain_is_at_most_the_whole) {
  mlq::engine::GainMeter meter;
  ck_assert(!meter.realised() && !meter.predicted());
  meter.restore(1.2, 1.00053);  // predictions may have promised too much: that is to be seen
  ck_assert_double_eq(*meter.realised(), 1.0);
  ck_assert_double_eq(*meter.predicted(), 1.2);
  meter.restore(0.5, 0.25);
  ck_assert_double_eq(*meter.realised(), 0.25);
  meter.restore(0.5, -0.25);  // a loss that rose
  ck_assert_double_eq(*meter.realised(), -0.25);
}
END_TEST

}  // namespace

TCase* comment_cases() {
  TCase* tests = tcase_create("admin comment");
  tcase_add_test(tests, realised_gain_is_at_most_the_whole);
  tcase_add_test(tests, whole_text);
  tcase_add_test(tests, reads_back);
  tcase_add_test(tests, foreign_text_is_not_ours);
  tcase_add_test(tests, site_object_stays);
  tcase_add_test(tests, ours_in_the_middle);
  tcase_add_test(tests, site_text_is_wrapped);
  tcase_add_test(tests, not_utf8_is_left_alone);
  tcase_add_test(tests, ours_is_shortened);
  tcase_add_test(tests, no_number_that_is_none);
  tcase_add_test(tests, rank_history_is_short);
  return tests;
}
