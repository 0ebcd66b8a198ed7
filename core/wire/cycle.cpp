// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/wire/cycle.hpp"

#include "core/wire/wire.hpp"

namespace mlq::wire {
namespace {

constexpr std::int64_t kMaxU32 = 0xffffffff;
constexpr std::int64_t kMaxTime = 100'000'000'000;
constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxFamily = 256;
constexpr std::size_t kMaxObject = 65536;

struct TextMember {
  const char* name;
  bool required;
};
constexpr TextMember kTexts[] = {{"user", false},   {"account", false}, {"partition", false}, {"name", false},
                                 {"family", false}, {"request", false}, {"state", true}};
constexpr const char* kNumbers[] = {"start", "end", "cores", "nodes", "array_job_id", "array_task_id"};

/// Copies a member that is there and a string; false when it is another thing, too long, or needed and
/// missing.
bool copy_text(const json_t* from, json_t* to, const TextMember& member, const std::string& where,
               std::string& error) {
  json_t* value = json_object_get(from, member.name);
  if ((!value || json_is_null(value)) && !member.required) return true;
  if (json_is_string(value) && json_string_length(value) <= kMaxText)
    return json_object_set(to, member.name, value) == 0;
  error = where + member.name + " is " + describe(value) + ", a string of at most 4096 bytes is needed";
  return false;
}

bool copy_number(const json_t* from, json_t* to, const char* name, const std::string& where,
                 std::string& error) {
  json_t* value = json_object_get(from, name);
  if (!value || json_is_null(value)) return true;
  if (json_is_number(value) && json_number_value(value) >= 0 &&
      json_number_value(value) <= static_cast<double>(kMaxTime))
    return json_object_set(to, name, value) == 0;
  error = where + name + " is " + describe(value) + ", a number from 0 to 1e11 is needed";
  return false;
}

/// Compact text of an object of bounded size.
bool take_object(const json_t* value, const std::string& where, std::string& out, std::string& error) {
  if (json_is_object(value)) out = to_text(value);
  if (json_is_object(value) && out.size() <= kMaxObject) return true;
  error = where + " is " + describe(value) + ", an object of at most 65536 bytes is needed";
  return false;
}

bool parse_identity(const json_t* value, const std::string& where, CycleJob& out, std::string& error) {
  const auto job_id = get_integer(value, "job_id", 1, kMaxU32, where, error);
  if (!job_id) return false;
  const auto submit = get_integer(value, "submit", 1, kMaxTime, where, error);
  if (!submit) return false;
  const auto uid = get_integer(value, "uid", 0, kMaxU32, where, error);
  if (!uid) return false;
  const auto restarts = get_integer(value, "restarts", 0, kMaxU32, where, error);
  if (!restarts) return false;
  const json_t* ended = json_object_get(value, "ended");
  if (!json_is_boolean(ended)) {
    error = where + "ended is " + describe(ended) + ", true or false is needed";
    return false;
  }
  out.job_id = static_cast<std::uint32_t>(*job_id);
  out.submit = *submit;
  out.uid = static_cast<std::uint32_t>(*uid);
  out.restarts = static_cast<std::uint32_t>(*restarts);
  out.ended = json_is_true(ended);
  return true;
}

bool parse_job(const json_t* value, const std::string& where, CycleJob& out, std::string& error) {
  if (!json_is_object(value)) {
    error = where + " is " + describe(value) + ", an object is needed";
    return false;
  }
  const std::string member = where + ".";
  if (!parse_identity(value, member, out, error)) return false;
  const Json info(json_object());
  for (const char* name : {"job_id", "submit", "uid", "restarts", "ended"})
    json_object_set(info.get(), name, json_object_get(value, name));
  for (const TextMember& text : kTexts)
    if (!copy_text(value, info.get(), text, member, error)) return false;
  for (const char* name : kNumbers)
    if (!copy_number(value, info.get(), name, member, error)) return false;
  if (const char* user = json_string_value(json_object_get(info.get(), "user"))) out.user = user;
  out.end = static_cast<std::int64_t>(json_number_value(json_object_get(info.get(), "end")));
  out.array_job_id =
      static_cast<std::int64_t>(json_number_value(json_object_get(info.get(), "array_job_id")));
  out.info = to_text(info.get());
  const json_t* status = json_object_get(value, "status");
  if (!status || json_is_null(status)) return true;
  return take_object(status, member + "status", out.status.emplace(), error);
}

bool parse_family(const json_t* value, const std::string& where, CycleFamily& out, std::string& error) {
  if (!take_object(value, where, out.data, error)) return false;
  const json_t* name = json_object_get(value, "name");
  if (!json_is_string(name) || json_string_length(name) == 0 || json_string_length(name) > kMaxFamily) {
    error = where + ".name is " + describe(name) + ", a string of 1 to 256 bytes is needed";
    return false;
  }
  out.name = json_string_value(name);
  return true;
}

/// Reads `name`, an array that may be absent, into `out` with `parse` for each element.
template <typename T, typename Parse>
bool parse_array(const json_t* root, const char* name, std::vector<T>& out, Parse parse, std::string& error) {
  const json_t* array = json_object_get(root, name);
  if (!array || json_is_null(array)) return true;
  if (!json_is_array(array)) {
    error = std::string(name) + " is " + describe(array) + ", an array is needed";
    return false;
  }
  out.resize(json_array_size(array));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string where = std::string(name) + "[" + std::to_string(i) + "]";
    if (!parse(json_array_get(array, i), where, out[i], error)) return false;
  }
  return true;
}

}  // namespace

std::optional<Cycle> parse_cycle(std::string_view body, std::string& error) {
  const Json root = parse_object(body, error);
  if (!root || !check_version(root.get(), error)) return std::nullopt;
  Cycle cycle;
  const json_t* cluster = json_object_get(root.get(), "cluster");
  if (json_is_string(cluster)) cycle.cluster = json_string_value(cluster);
  if (!valid_cluster(cycle.cluster)) {
    error = "cluster is " + describe(cluster) + ", 1 to 63 graphic ASCII characters are needed";
    return std::nullopt;
  }
  const json_t* time = json_object_get(root.get(), "time");
  cycle.time = json_number_value(time);
  if (!(cycle.time > 0 && cycle.time < static_cast<double>(kMaxTime))) {
    error = "time is " + describe(time) + ", seconds since the epoch are needed";
    return std::nullopt;
  }
  const Json data(json_object());
  for (const char* name : {"time", "mode", "weight", "horizon", "interval", "stats"})
    if (json_t* value = json_object_get(root.get(), name)) json_object_set(data.get(), name, value);
  if (!take_object(data.get(), "cycle", cycle.data, error)) return std::nullopt;
  if (!parse_array(root.get(), "jobs", cycle.jobs, parse_job, error)) return std::nullopt;
  if (!parse_array(root.get(), "families", cycle.families, parse_family, error)) return std::nullopt;
  return cycle;
}

}  // namespace mlq::wire
