// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/admin_comment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/wire/wire.hpp"
#include "slurm-plugin/engine/engine.h"

namespace mlq::engine {
namespace {

using wire::Json;

constexpr std::int64_t schema_version = 1;
constexpr std::size_t own_digits = 6;
constexpr std::string_view own_member = "\"mlq\":";

enum class Detail { all, without_ranks, least };

void put(json_t* object, const char* key, const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return;
  const double whole = std::nearbyint(*value);
  const bool as_integer = whole == *value && std::fabs(whole) < 1e15;
  json_object_set_new(object, key,
                      as_integer ? json_integer(static_cast<json_int_t>(whole)) : json_real(*value));
}

std::string dump(const json_t* value, std::size_t flags) {
  const std::unique_ptr<char, decltype(&std::free)> text(json_dumps(value, flags | JSON_COMPACT), &std::free);
  return text ? text.get() : std::string();
}

void put_requeue(json_t* to, const RequeueRecord& record) {
  if (!record.any()) return;
  json_t* requeue = json_object();
  json_object_set_new(requeue, "n", json_integer(record.done));
  if (record.at > 0) {
    put(requeue, "at", record.at);
    json_object_set_new(requeue, "run", json_integer(record.run));
    json_object_set_new(requeue, "units", json_integer(record.units));
    json_t* components = record.components.empty() ? nullptr : json_array();
    for (const ComponentUnits& one : record.components)
      json_array_append_new(components, json_pack("[ii]", one.offset, one.units));
    if (components != nullptr) json_object_set_new(requeue, "het", components);
  }
  if (record.iteration >= 0) put(requeue, "iter", record.iteration);
  if (record.back >= 0) put(requeue, "back", record.back);
  json_object_set_new(to, "requeue", requeue);
}

std::string own_text(const CommentFields& fields, Detail detail) {
  const Json object(json_object());
  json_t* to = object.get();
  json_object_set_new(to, "v", json_integer(schema_version));
  put(to, "loss", fields.loss);
  if (detail != Detail::least) {
    put(to, "first", fields.first);
    put(to, "best", fields.best);
  }
  put(to, "fraction", fields.fraction);
  if (detail != Detail::least) {
    put(to, "gain_pred", fields.gain_pred);
    put(to, "gain_real", fields.gain_real);
  }
  put(to, "core_s", fields.core_s);
  if (fields.core_s_before.value_or(0) > 0) put(to, "core_s_before", fields.core_s_before);
  if (fields.shrunk_s.value_or(0) > 0) put(to, "shrunk_s", fields.shrunk_s);
  if (fields.companion_s.value_or(0) > 0) {
    put(to, "comp_s", fields.companion_s);
    put(to, "comp_end", fields.companion_end);
  }
  put(to, "iter", fields.iter);
  if (detail != Detail::least) json_object_set_new(to, "verdict", json_string(fields.verdict.c_str()));
  if (detail == Detail::all && !fields.ranks.empty()) {
    json_t* ranks = json_array();
    const std::size_t count = std::min(fields.ranks.size(), CommentFields::max_ranks);
    for (std::size_t i = fields.ranks.size() - count; i < fields.ranks.size(); i++) {
      json_array_append_new(ranks, json_integer(fields.ranks[i]));
    }
    json_object_set_new(to, "ranks", ranks);
  }
  if (fields.restarts > 0) json_object_set_new(to, "restarts", json_integer(fields.restarts));
  if (fields.site > 0) json_object_set_new(to, "site", json_integer(fields.site));
  if (fields.asked > 0) json_object_set_new(to, "asked", json_integer(fields.asked));
  put_requeue(to, fields.requeue);
  if (fields.final) json_object_set_new(to, "final", json_true());
  return dump(to, JSON_REAL_PRECISION(own_digits));
}

Json parse_site_object(std::string_view text) {
  Json value(json_loadb(text.data(), text.size(), JSON_REJECT_DUPLICATES, nullptr));
  return value && json_is_object(value.get()) ? std::move(value) : nullptr;
}

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view trim(std::string_view text) {
  text = trim_end(text);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

/// The site's own object up to before its closing brace, byte for byte where ours stands at the end.
std::string site_prefix(std::string_view existing, const Json& object) {
  std::string_view text = trim_end(existing);
  if (json_object_get(object.get(), "mlq") == nullptr) return std::string(text.substr(0, text.size() - 1));
  const Json site(json_copy(object.get()));
  json_object_del(site.get(), "mlq");
  const std::size_t at = text.rfind(own_member);
  if (at != std::string_view::npos) {
    std::string prefix(trim_end(text.substr(0, at)));
    if (prefix.ends_with(',')) prefix.pop_back();
    const std::string closed = prefix + "}";
    const Json again = parse_site_object(closed);
    if (again && json_equal(again.get(), site.get())) return prefix;
  }
  std::string dumped = dump(site.get(), JSON_REAL_PRECISION(17));
  if (!dumped.empty()) dumped.pop_back();
  return dumped;
}

/// What stands before our member; empty when the site's text is no UTF-8.
std::optional<std::string> text_before(std::string_view existing) {
  if (trim_end(existing).empty()) return "{";
  if (const Json object = parse_site_object(existing)) return site_prefix(existing, object);
  const Json text(json_stringn(existing.data(), existing.size()));
  if (!text) return std::nullopt;
  return "{\"site\":" + dump(text.get(), JSON_ENCODE_ANY);
}

std::optional<double> real(const json_t* object, const char* key) {
  const json_t* value = json_object_get(object, key);
  if (!json_is_number(value) || !std::isfinite(json_number_value(value))) return std::nullopt;
  return json_number_value(value);
}

std::uint32_t small(const json_t* value) {
  if (!json_is_integer(value)) return 0;
  const json_int_t number = json_integer_value(value);
  return number > 0 && number <= std::numeric_limits<std::uint32_t>::max()
             ? static_cast<std::uint32_t>(number)
             : 0;
}

}  // namespace

std::optional<CommentFields> read_comment(std::string_view existing) {
  const Json object = parse_site_object(existing);
  if (!object) return std::nullopt;
  const json_t* own = json_object_get(object.get(), "mlq");
  const json_t* version = json_object_get(own, "v");
  if (!json_is_integer(version) || json_integer_value(version) != schema_version) return std::nullopt;
  CommentFields fields;
  fields.loss = real(own, "loss");
  fields.first = real(own, "first");
  fields.best = real(own, "best");
  fields.fraction = real(own, "fraction");
  fields.gain_pred = real(own, "gain_pred");
  fields.gain_real = real(own, "gain_real");
  fields.core_s = real(own, "core_s");
  fields.core_s_before = real(own, "core_s_before");
  fields.shrunk_s = real(own, "shrunk_s");
  fields.companion_s = real(own, "comp_s");
  fields.companion_end = real(own, "comp_end");
  fields.iter = real(own, "iter");
  if (const char* verdict = json_string_value(json_object_get(own, "verdict"))) fields.verdict = verdict;
  const json_t* ranks = json_object_get(own, "ranks");
  for (std::size_t i = 0; i < json_array_size(ranks) && i < CommentFields::max_ranks; i++) {
    if (const std::uint32_t rank = small(json_array_get(ranks, i))) fields.ranks.push_back(rank);
  }
  fields.restarts = small(json_object_get(own, "restarts"));
  fields.site = small(json_object_get(own, "site"));
  fields.asked = small(json_object_get(own, "asked"));
  if (const json_t* requeue = json_object_get(own, "requeue")) {
    fields.requeue.done = small(json_object_get(requeue, "n"));
    fields.requeue.at = real(requeue, "at").value_or(0);
    fields.requeue.run = small(json_object_get(requeue, "run"));
    fields.requeue.units = small(json_object_get(requeue, "units"));
    const json_t* components = json_object_get(requeue, "het");
    for (std::size_t i = 0; i < json_array_size(components) && i < RequeueRecord::most_components; i++) {
      const json_t* one = json_array_get(components, i);
      const std::uint32_t units = small(json_array_get(one, 1));
      if (units > 0) fields.requeue.components.push_back({small(json_array_get(one, 0)), units});
    }
    fields.requeue.iteration = real(requeue, "iter").value_or(-1);
    fields.requeue.back = real(requeue, "back").value_or(-1);
  }
  fields.final = json_is_true(json_object_get(own, "final"));
  return fields;
}

std::optional<std::string> merge_comment(std::string_view existing, const CommentFields& fields) {
  const std::optional<std::string> before = text_before(existing);
  if (!before) return std::nullopt;
  const bool first_member = trim(*before) == "{";
  for (const Detail detail : {Detail::all, Detail::without_ranks, Detail::least}) {
    std::string text = *before;
    if (!first_member) text += ',';
    text += own_member;
    text += own_text(fields, detail);
    text += '}';
    if (text.size() <= MLQ_ADMIN_COMMENT_MAX) return text;
  }
  return std::nullopt;
}

}  // namespace mlq::engine
