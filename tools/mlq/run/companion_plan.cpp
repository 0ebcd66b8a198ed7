// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/companion_plan.hpp"

#include <algorithm>
#include <charconv>

#include "core/wire/wire.hpp"

namespace mlq::run {
namespace {

constexpr std::int64_t kUnitsMax = 1000000;
constexpr std::size_t kGrantsMax = 256;
constexpr double kPollMax = 3600;  ///< seconds
constexpr std::int64_t kNice =
    100000;  ///< beyond what site factors and QOS give: below all other jobs of its owner

std::optional<std::int64_t> whole(const json_t* object, const char* name) {
  const json_t* value = json_object_get(object, name);
  if (!json_is_integer(value)) return std::nullopt;
  const std::int64_t number = json_integer_value(value);
  if (number < 0 || number > kUnitsMax) return std::nullopt;
  return number;
}

/// A name that Slurm could have: it goes into a command.
bool plain_name(const char* name) {
  const std::string_view text = name ? name : "";
  return !text.empty() && text.size() <= 128 && !text.starts_with('-') &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; });
}

std::optional<Target> parse_target(const json_t* object) {
  const auto units = whole(object, "units"), base = whole(object, "base");
  const json_t* requeue = json_object_get(object, "requeue");
  if (!units || !base || (*units < *base && !requeue)) return std::nullopt;
  Target target;
  target.units = *units;
  target.base = *base;
  target.unit_gpus = whole(object, "unit_gpus").value_or(0);
  target.unit_cores = whole(object, "unit_cores").value_or(0);
  if (const auto keep = whole(object, "keep_nodes")) target.keep_nodes = *keep;
  if (const double at = json_number_value(json_object_get(requeue, "at")); at > 0) target.requeue_at = at;
  if (const double grace = json_number_value(json_object_get(requeue, "grace")); grace >= 1 && grace <= 86400)
    target.requeue_grace = grace;
  if (const double lead = json_number_value(json_object_get(object, "lead")); lead > 0 && lead <= 86400)
    target.lead = lead;
  if (const char* reason = json_string_value(json_object_get(object, "reason"))) target.reason = reason;
  std::size_t index = 0;
  json_t* entry = nullptr;
  json_array_foreach(json_object_get(object, "grants"), index, entry) {
    const char* partition = json_string_value(json_object_get(entry, "partition"));
    const auto size = whole(entry, "units");
    const json_t* gpu_type = json_object_get(entry, "gpu_type");
    if (gpu_type && !plain_name(json_string_value(gpu_type))) continue;
    if (target.grants.size() < kGrantsMax && plain_name(partition) && size && *size > 0)
      target.grants.push_back({partition, *size, gpu_type ? json_string_value(gpu_type) : ""});
  }
  json_array_foreach(json_object_get(object, "leave"), index, entry) {
    if (target.leave.size() < kGrantsMax && json_integer_value(entry) > 0)
      target.leave.push_back(json_integer_value(entry));
  }
  return target;
}

/// fits[i][w]: some of the companions from the i-th on have w units together.
std::vector<std::vector<char>> sums_from(const std::vector<std::int64_t>& units, std::int64_t most) {
  const auto width = static_cast<std::size_t>(most) + 1;
  std::vector<std::vector<char>> fits(units.size() + 1, std::vector<char>(width, 0));
  fits.back()[0] = 1;
  for (std::size_t i = units.size(); i-- > 0;)
    for (std::size_t w = 0; w < width; ++w) {
      const auto own = static_cast<std::size_t>(units[i]);
      fits[i][w] = fits[i + 1][w] || (w >= own && fits[i + 1][w - own]);
    }
  return fits;
}

/// Which of them to keep within `most` units.
std::vector<char> keep_most(const std::vector<std::int64_t>& units, std::int64_t most) {
  most = std::clamp<std::int64_t>(most, 0, 65536);
  const auto fits = sums_from(units, most);
  auto rest = static_cast<std::size_t>(most);
  while (!fits[0][rest]) --rest;
  std::vector<char> keep(units.size(), 0);
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto own = static_cast<std::size_t>(units[i]);
    if (own > rest || !fits[i + 1][rest - own]) continue;
    keep[i] = 1;
    rest -= own;
  }
  return keep;
}

}  // namespace

std::optional<JobNews> parse_job_news(const std::string& answer) {
  std::string error;
  const wire::Json object = wire::parse_object(answer, error);
  if (!object || json_integer_value(json_object_get(object.get(), "v")) != wire::kVersion)
    return std::nullopt;
  JobNews news;
  if (const char* request = json_string_value(json_object_get(object.get(), "request")))
    news.request = request;
  if (const double poll = json_number_value(json_object_get(object.get(), "poll"));
      poll > 0 && poll <= kPollMax)
    news.poll = poll;
  const json_t* target = json_object_get(json_object_get(object.get(), "status"), "target");
  if (json_is_object(target)) news.target = parse_target(target);
  return news;
}

CompanionPlan plan_companions(const Target& target, const std::vector<CompanionView>& companions) {
  CompanionPlan plan;
  const std::int64_t wanted = std::max<std::int64_t>(0, target.units - target.base);
  std::vector<std::size_t> joined, pending;
  std::vector<std::int64_t> joined_units;
  std::int64_t joined_sum = 0, pending_sum = 0;
  for (std::size_t i = 0; i < companions.size(); ++i) {
    const CompanionView& companion = companions[i];
    const auto& leave = target.leave;
    if (companion.state != CompanionState::leaving &&
        std::find(leave.begin(), leave.end(), companion.job) != leave.end()) {
      plan.release.push_back(i);
    } else if (companion.state == CompanionState::joined) {
      joined.push_back(i);
      joined_units.push_back(companion.units);
      joined_sum += companion.units;
    } else if (companion.state == CompanionState::pending) {
      pending.push_back(i);
      pending_sum += companion.units;
    }
  }
  while (joined_sum + pending_sum > wanted && !pending.empty()) {  // the newest first
    pending_sum -= companions[pending.back()].units;
    plan.release.push_back(pending.back());
    pending.pop_back();
  }
  if (joined_sum > wanted) {
    const std::vector<char> keep = keep_most(joined_units, wanted);
    for (std::size_t i = 0; i < joined.size(); ++i)
      if (!keep[i]) plan.release.push_back(joined[i]);
    return plan;
  }
  std::int64_t room = wanted - joined_sum - pending_sum;
  for (const Grant& grant : target.grants) {
    // the scheduler's answer may be older than what was asked for since
    const auto same = std::find_if(pending.begin(), pending.end(), [&](std::size_t i) {
      return companions[i].units == grant.units && companions[i].partition == grant.partition;
    });
    if (same != pending.end()) {
      pending.erase(same);
    } else if (grant.units <= room) {
      plan.submit.push_back(grant);
      room -= grant.units;
    }
  }
  return plan;
}

std::optional<std::int64_t> parse_time_left(std::string_view text) {
  if (text == "UNLIMITED" || text == "NOT_SET") return -1;
  std::int64_t total = 0, days = 0;
  const auto read = [](std::string_view part, std::int64_t most) -> std::int64_t {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), value);
    return code == std::errc() && end == part.data() + part.size() && value >= 0 && value <= most ? value
                                                                                                  : -1;
  };
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    days = read(text.substr(0, dash), 100000);
    if (days < 0) return std::nullopt;
    text.remove_prefix(dash + 1);
  }
  for (int part = 0; part < 3; ++part) {
    const auto colon = text.find(':');
    const std::int64_t value = read(text.substr(0, colon), 1000000);
    if (value < 0) return std::nullopt;
    total = total * 60 + value;
    if (colon == std::string_view::npos)
      return part == 0 ? std::nullopt : std::optional(days * 86400 + total);
    text.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

std::optional<std::int64_t> companion_minutes(std::string_view time_left) {
  const auto seconds = parse_time_left(time_left);
  if (!seconds) return std::nullopt;
  return *seconds < 0 ? 0 : std::max<std::int64_t>(1, *seconds / 60);
}

Unit unit_of(const Target& target, Unit own) {
  if (own.kind == UnitKind::cores) return own;
  if (target.unit_gpus > 0) own.gpus = target.unit_gpus;
  if (own.kind == UnitKind::gpu && target.unit_cores > 0) own.cores = target.unit_cores;
  return own;
}

std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::int64_t parse_sbatch(std::string_view output) {
  std::int64_t id = 0;
  const auto [end, code] = std::from_chars(output.data(), output.data() + output.size(), id);
  if (code != std::errc() || id <= 0 || id > 0xffffffffLL) return 0;
  return end == output.data() + output.size() || *end == ';' || *end == '\n' ? id : 0;
}

std::vector<std::string> sbatch_command(const ParentJob& parent, const Unit& unit, const Grant& grant,
                                        const std::string& directory, const std::string& script) {
  std::vector<std::string> command{"sbatch",     "--parsable",   "--nodes=1",
                                   "--ntasks=1", "--no-requeue", "--export=ALL"};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) command.push_back(std::string(option) + "=" + value);
  };
  add("--ml-quality", "companion=" + std::to_string(parent.job));
  add("--job-name", parent.name);
  add("--nice", std::to_string(kNice));
  add("--partition", grant.partition);
  if (unit.kind == UnitKind::node) command.emplace_back("--exclusive");
  if (unit.gpus > 0)
    add("--gres", "gpu:" + (grant.gpu_type.empty() ? "" : grant.gpu_type + ":") +
                      std::to_string(grant.units * unit.gpus));
  if (unit.cores > 0) add("--cpus-per-task", std::to_string(grant.units * unit.cores));
  if (parent.memory_per_gpu > 0 && unit.gpus > 0)
    add("--mem-per-gpu", std::to_string(parent.memory_per_gpu) + "M");
  else if (parent.memory_per_cpu > 0)
    add("--mem-per-cpu", std::to_string(parent.memory_per_cpu) + "M");
  if (parent.minutes > 0) add("--time", std::to_string(parent.minutes));
  add("--account", parent.account);
  add("--qos", parent.qos);
  add("--reservation", parent.reservation);
  add("--constraint", parent.constraint);
  add("--chdir", directory);
  add("--output", "/dev/null");
  add("--wrap", script);
  return command;
}

}  // namespace mlq::run
