// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/wire/agent.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "core/wire/wire.hpp"

namespace mlq::wire {
namespace {

constexpr std::int64_t kMaxU32 = 0xffffffff;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;
constexpr std::int64_t kMaxUnits = 1'000'000;
constexpr double kMaxTime = 1e11;

struct WholeMember {
  const char* name;
  std::int64_t low, high;
  bool required;
};
constexpr std::array<WholeMember, 4> kWhole = {{{"units", 0, kMaxUnits, true},
                                                {"generation", 0, kMaxCount, false},
                                                {"ranks", 0, kMaxUnits, false},
                                                {"moves", 0, kMaxCount, false}}};
constexpr std::array<const char*, 4> kReal = {"lost_s", "move_s", "speedup_unit", "refused_at"};
constexpr std::array<std::string_view, 7> kPhases = {"steady", "growing", "shrinking", "restarting",
                                                     "saving", "saved",   "ending"};
constexpr std::array<std::string_view, 3> kCompanionStates = {"PENDING", "RUNNING", "LEAVING"};

bool given(const json_t* value) {
  return value && !json_is_null(value);
}

template <std::size_t size>
bool is_one_of(const json_t* value, const std::array<std::string_view, size>& words) {
  if (!json_is_string(value)) return false;
  const std::string_view text(json_string_value(value), json_string_length(value));
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool take_whole(const json_t* from, json_t* to, const WholeMember& member, std::string& error) {
  if (!member.required && !given(json_object_get(from, member.name))) return true;
  const auto value = get_integer(from, member.name, member.low, member.high, "", error);
  return value && json_object_set_new(to, member.name, json_integer(*value)) == 0;
}

bool take_real(const json_t* from, json_t* to, const char* name, std::string& error) {
  json_t* value = json_object_get(from, name);
  if (!given(value)) return true;
  const double number = json_number_value(value);
  if (json_is_number(value) && number >= 0 && number <= kMaxTime)
    return json_object_set(to, name, value) == 0;
  error = std::string(name) + " is " + describe(value) + ", a number from 0 to 1e11 is needed";
  return false;
}

bool take_flag(const json_t* from, json_t* to, const char* name, std::string& error) {
  json_t* value = json_object_get(from, name);
  if (!given(value)) return true;
  if (json_is_boolean(value)) return json_object_set(to, name, value) == 0;
  error = std::string(name) + " is " + describe(value) + ", true or false is needed";
  return false;
}

bool take_refused(const json_t* from, json_t* to, std::string& error) {
  json_t* value = json_object_get(from, "refused");
  if (!given(value)) return true;
  if (json_is_string(value) && json_string_length(value) <= kRefusedMax)
    return json_object_set(to, "refused", value) == 0;
  error = "refused is " + describe(value) + ", a string of at most " + std::to_string(kRefusedMax) +
          " bytes is needed";
  return false;
}

bool is_node_name(const json_t* value) {
  constexpr std::size_t most = 255;
  if (!json_is_string(value)) return false;
  const std::string_view text(json_string_value(value), json_string_length(value));
  return !text.empty() && text.size() <= most && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

bool take_left_nodes(const json_t* from, json_t* to, std::string& error) {
  json_t* value = json_object_get(from, "left_nodes");
  if (!given(value)) return true;
  bool good = json_is_array(value) && json_array_size(value) <= kCompanionsMax;
  for (std::size_t i = 0; good && i < json_array_size(value); ++i)
    good = is_node_name(json_array_get(value, i));
  if (good) return json_object_set(to, "left_nodes", value) == 0;
  error = "left_nodes is " + (json_is_array(value) ? "another array" : describe(value)) +
          ", an array of at most " + std::to_string(kCompanionsMax) + " names of nodes is needed";
  return false;
}

bool take_companion(const json_t* value, std::size_t index, json_t* list, std::string& error) {
  const std::string where = "companions[" + std::to_string(index) + "]";
  if (!json_is_object(value)) {
    error = where + " is " + describe(value) + ", an object is needed";
    return false;
  }
  const auto job_id = get_integer(value, "job_id", 1, kMaxU32, where + ".", error);
  if (!job_id) return false;
  const auto units = get_integer(value, "units", 1, kMaxUnits, where + ".", error);
  if (!units) return false;
  json_t* state = json_object_get(value, "state");
  if (!is_one_of(state, kCompanionStates)) {
    error = where + ".state is " + describe(state) + ", PENDING, RUNNING or LEAVING is needed";
    return false;
  }
  return json_array_append_new(list, json_pack("{s:I, s:I, s:O}", "job_id", static_cast<json_int_t>(*job_id),
                                               "units", static_cast<json_int_t>(*units), "state", state)) ==
         0;
}

bool take_companions(const json_t* from, json_t* to, std::string& error) {
  const json_t* value = json_object_get(from, "companions");
  if (!given(value)) return true;
  if (!json_is_array(value) || json_array_size(value) > kCompanionsMax) {
    error =
        "companions is " +
        (json_is_array(value) ? "an array of " + std::to_string(json_array_size(value)) : describe(value)) +
        ", an array of at most " + std::to_string(kCompanionsMax) + " is needed";
    return false;
  }
  json_t* list = json_array();
  json_object_set_new(to, "companions", list);
  for (std::size_t i = 0; i < json_array_size(value); ++i)
    if (!take_companion(json_array_get(value, i), i, list, error)) return false;
  return true;
}

bool take_time_and_phase(const json_t* from, json_t* to, AgentState& out, std::string& error) {
  json_t* time = json_object_get(from, "time");
  out.time = json_number_value(time);
  if (!json_is_number(time) || !(out.time > 0 && out.time < kMaxTime)) {
    error = "time is " + describe(time) + ", seconds since the epoch are needed";
    return false;
  }
  json_t* phase = json_object_get(from, "phase");
  if (!is_one_of(phase, kPhases)) {
    error = "phase is " + describe(phase) +
            ", steady, growing, shrinking, restarting, saving, saved or ending "
            "is needed";
    return false;
  }
  json_object_set(to, "time", time);
  json_object_set(to, "phase", phase);
  return true;
}

}  // namespace

std::optional<AgentState> parse_agent(std::string_view body, std::string& error) {
  const Json root = parse_object(body, error);
  if (!root || !check_version(root.get(), error)) return std::nullopt;
  AgentState state;
  if (given(json_object_get(root.get(), "job_id"))) {
    const auto job_id = get_integer(root.get(), "job_id", 1, kMaxU32, "", error);
    if (!job_id) return std::nullopt;
    state.job_id = static_cast<std::uint32_t>(*job_id);
  }
  const Json data(json_object());
  if (!take_time_and_phase(root.get(), data.get(), state, error)) return std::nullopt;
  for (const WholeMember& member : kWhole)
    if (!take_whole(root.get(), data.get(), member, error)) return std::nullopt;
  for (const char* name : kReal)
    if (!take_real(root.get(), data.get(), name, error)) return std::nullopt;
  if (!take_flag(root.get(), data.get(), "saves", error)) return std::nullopt;
  if (!take_refused(root.get(), data.get(), error)) return std::nullopt;
  if (!take_left_nodes(root.get(), data.get(), error)) return std::nullopt;
  if (!take_companions(root.get(), data.get(), error)) return std::nullopt;
  state.data = to_text(data.get());
  return state;
}

}  // namespace mlq::wire
