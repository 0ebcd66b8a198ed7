// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/wire/speeds.hpp"

#include <algorithm>
#include <cmath>

#include "core/wire/wire.hpp"

namespace mlq::wire {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 53;
constexpr double kMaxSpeed = 1e12;

bool graphic(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool valid_node(std::string_view name) {
  return !name.empty() && name.size() <= kNodeMax && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

bool take_text(const json_t* from, const char* name, bool (*valid)(std::string_view), const char* needed,
               std::string& out, std::string& error) {
  const json_t* value = json_object_get(from, name);
  if (json_is_string(value)) out.assign(json_string_value(value), json_string_length(value));
  if (json_is_string(value) && valid(out)) return true;
  error = std::string(name) + " is " + describe(value) + ", " + needed + " is needed";
  return false;
}

bool whole(const json_t* value, std::int64_t high, std::int64_t& out) {
  out = json_integer_value(value);
  return json_is_integer(value) && out >= 0 && out <= high;
}

bool take_rank(const json_t* value, std::size_t index, RankSpeed& out, std::string& error) {
  const std::string where = "ranks[" + std::to_string(index) + "]";
  if (!json_is_array(value) || json_array_size(value) != 3) {
    error = where + " is " + describe(value) + ", an array [rank, size, speed] is needed";
    return false;
  }
  const json_t *rank = json_array_get(value, 0), *size = json_array_get(value, 1),
               *speed = json_array_get(value, 2);
  if (!whole(rank, kRankNumberMax, out.rank)) {
    error = where + "[0] is " + describe(rank) + ", a rank from 0 to 65535 is needed";
    return false;
  }
  if (!whole(size, kMaxSize, out.size)) {
    error = where + "[1] is " + describe(size) + ", samples from 0 to 2^53 are needed";
    return false;
  }
  out.speed = json_number_value(speed);
  if (json_is_null(speed) || (json_is_number(speed) && out.speed > 0 && out.speed <= kMaxSpeed)) return true;
  error =
      where + "[2] is " + describe(speed) + ", samples a second above 0 and up to 1e12, or null, are needed";
  return false;
}

}  // namespace

bool valid_speed_family(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kSpeedFamilyMax && graphic(name);
}

bool valid_speed_unit(std::string_view name) noexcept {
  if (name == "core" || name == "gpu" || name == "node") return true;
  return !name.empty() && name.size() <= 4 && name[0] != '0' &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

double SpeedReport::median_speed() const {
  std::vector<double> known;
  known.reserve(ranks.size());
  for (const RankSpeed& rank : ranks)
    if (rank.speed > 0) known.push_back(rank.speed);
  if (known.empty()) return 0;
  std::sort(known.begin(), known.end());
  return 0.5 * (known[(known.size() - 1) / 2] + known[known.size() / 2]);
}

std::optional<SpeedReport> parse_speeds(std::string_view body, std::string& error) {
  const Json root = parse_object(body, error);
  if (!root || !check_version(root.get(), error)) return std::nullopt;
  SpeedReport report;
  if (!take_text(root.get(), "family", valid_speed_family, "a name of 1 to 192 graphic ASCII characters",
                 report.family, error) ||
      !take_text(root.get(), "unit", valid_speed_unit, "core, gpu, node or a number of cores up to 9999",
                 report.unit, error) ||
      !take_text(root.get(), "node", valid_node, "a name of 1 to 255 of A-Z a-z 0-9 . _ -", report.node,
                 error))
    return std::nullopt;
  const json_t* ranks = json_object_get(root.get(), "ranks");
  const std::size_t count = json_array_size(ranks);
  if (!json_is_array(ranks) || count == 0 || count > kRanksMax) {
    error = "ranks is " + (json_is_array(ranks) ? "an array of " + std::to_string(count) : describe(ranks)) +
            ", an array of 1 to " + std::to_string(kRanksMax) + " is needed";
    return std::nullopt;
  }
  report.ranks.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    if (!take_rank(json_array_get(ranks, i), i, report.ranks[i], error)) return std::nullopt;
  return report;
}

}  // namespace mlq::wire
