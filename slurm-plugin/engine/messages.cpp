// SPDX-License-Identifier: GPL-2.0-or-later
// Reads what mlqd answers. Every value is checked: mlqd may be another version, and its data come from users.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/request/quality_request.h"
#include "core/wire/wire.hpp"
#include "slurm-plugin/engine/mlqd_client.hpp"

namespace mlq::engine {
namespace {

constexpr std::size_t name_max = 256;

wire::Json parse_object(const std::string& body, const char* what, std::string& error) {
  json_error_t details;
  wire::Json root(json_loadb(body.data(), body.size(), 0, &details));
  if (!root || !json_is_object(root.get())) {
    error = std::string(what) + ": " + (root ? "not a JSON object" : wire::reason(details));
    return nullptr;
  }
  const json_t* version = json_object_get(root.get(), "v");
  if (!json_is_integer(version) || json_integer_value(version) != 1) {
    error = std::string(what) + ": v must be 1";
    return nullptr;
  }
  return root;
}

/// A finite number, or `fallback` for null and absent; false for anything else.
bool number(const json_t* value, double fallback, double& out) {
  if (value == nullptr || json_is_null(value)) {
    out = fallback;
    return true;
  }
  if (!json_is_number(value)) return false;
  out = json_number_value(value);
  return std::isfinite(out);
}

bool whole(const json_t* value, std::int64_t low, std::int64_t high, std::int64_t& out) {
  if (!json_is_integer(value)) return false;
  out = json_integer_value(value);
  return out >= low && out <= high;
}

/// [seq, job_id, submit, iteration, loss|null, time, cores|null]
bool parse_row(const json_t* row, ReportedPoint& out) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (!json_is_array(row) || json_array_size(row) < 6) return false;
  std::int64_t job_id = 0;
  if (!whole(json_array_get(row, 1), 1, std::numeric_limits<std::uint32_t>::max(), job_id)) return false;
  if (!whole(json_array_get(row, 2), 0, std::numeric_limits<std::int64_t>::max(), out.submit)) return false;
  out.job_id = static_cast<std::uint32_t>(job_id);
  LossPoint& point = out.point;
  return number(json_array_get(row, 3), nan, point.iteration) && std::isfinite(point.iteration) &&
         number(json_array_get(row, 4), nan, point.loss) && number(json_array_get(row, 5), 0, point.time) &&
         number(json_array_get(row, 6), 0, point.cores) && point.cores >= 0;
}

std::string text_of(const json_t* value, std::size_t most) {
  if (!json_is_string(value)) return "";
  return std::string(json_string_value(value), std::min(json_string_length(value), most));
}

/// As in GET /v1/points, agents.
bool parse_agent(const json_t* value, AgentReport& out) {
  std::int64_t job_id = 0, units = 0;
  if (!whole(json_object_get(value, "job_id"), 1, std::numeric_limits<std::uint32_t>::max(), job_id) ||
      !whole(json_object_get(value, "submit"), 0, std::numeric_limits<std::int64_t>::max(), out.submit) ||
      !whole(json_object_get(value, "units"), 0, MLQ_UNITS_MAX, units))
    return false;
  out.job_id = static_cast<std::uint32_t>(job_id);
  out.units = static_cast<std::uint32_t>(units);
  out.phase = text_of(json_object_get(value, "phase"), name_max);
  out.refused = text_of(json_object_get(value, "refused"), name_max);
  const json_t* left = json_object_get(value, "left_nodes");
  for (std::size_t i = 0; i < std::min<std::size_t>(json_array_size(left), 1000); i++)
    out.left_nodes.push_back(text_of(json_array_get(left, i), name_max));
  out.saves = json_is_true(json_object_get(value, "saves"));
  return number(json_object_get(value, "time"), 0, out.time) &&
         number(json_object_get(value, "received"), 0, out.received) &&
         number(json_object_get(value, "move_s"), -1, out.move_s) &&
         number(json_object_get(value, "refused_at"), 0, out.refused_at);
}

bool parse_family(const json_t* value, FamilyRecord& out) {
  const json_t* name = json_object_get(value, "name");
  const json_t* means = json_object_get(value, "core_seconds");
  std::int64_t runs = 0;
  if (!json_is_string(name) || json_string_length(name) == 0 || json_string_length(name) > name_max)
    return false;
  if (!whole(json_object_get(value, "runs"), 1, std::numeric_limits<std::int32_t>::max(), runs)) return false;
  if (!json_is_array(means) || json_array_size(means) != out.mean.core_seconds.size()) return false;
  for (std::size_t i = 0; i < out.mean.core_seconds.size(); i++) {
    if (!number(json_array_get(means, i), -1, out.mean.core_seconds[i]) || out.mean.core_seconds[i] <= 0)
      return false;
  }
  out.name = json_string_value(name);
  out.runs = static_cast<unsigned>(runs);
  return true;
}

}  // namespace

bool parse_points(const std::string& body, std::uint64_t after, PointsPage& out, std::string& error) {
  out = PointsPage();
  const wire::Json root = parse_object(body, "points", error);
  if (!root) return false;
  const json_t* epoch = json_object_get(root.get(), "epoch");
  const json_t* rows = json_object_get(root.get(), "points");
  std::int64_t next = 0;
  if (!json_is_string(epoch) || !json_is_array(rows) ||
      !whole(json_object_get(root.get(), "next"), 0, std::numeric_limits<std::int64_t>::max(), next)) {
    error = "points: epoch, next or points is missing or of another type";
    return false;
  }
  out.epoch = json_string_value(epoch);
  out.next = static_cast<std::uint64_t>(next);
  out.more = json_is_true(json_object_get(root.get(), "more")) && out.next > after;
  std::size_t i = 0;
  const json_t* row = nullptr;
  out.points.reserve(json_array_size(rows));
  json_array_foreach(rows, i, row) {
    ReportedPoint point;
    if (parse_row(row, point)) {
      out.points.push_back(point);
    } else {
      out.malformed++;
    }
  }
  const json_t* agents = json_object_get(root.get(), "agents");  // an older mlqd knows of none
  json_array_foreach(agents, i, row) {
    AgentReport agent;
    if (parse_agent(row, agent)) {
      out.agents.push_back(std::move(agent));
    } else {
      out.malformed++;
    }
  }
  return true;
}

bool parse_jobs(const std::string& body, std::vector<OpenJob>& out, std::string& error) {
  out.clear();
  const wire::Json root = parse_object(body, "jobs", error);
  if (!root) return false;
  const json_t* jobs = json_object_get(root.get(), "jobs");
  if (!json_is_array(jobs)) {
    error = "jobs: an array is missing";
    return false;
  }
  std::size_t i = 0;
  const json_t* value = nullptr;
  json_array_foreach(jobs, i, value) {
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    std::int64_t job_id = 0, submit = 0, uid = 0, restarts = 0;
    if (!whole(json_object_get(value, "job_id"), 1, most, job_id)) continue;
    if (!whole(json_object_get(value, "submit"), 1, std::numeric_limits<std::int64_t>::max(), submit))
      continue;
    if (!whole(json_object_get(value, "uid"), 0, most, uid)) continue;
    if (!whole(json_object_get(value, "restarts"), 0, most, restarts)) continue;
    if (!json_is_true(json_object_get(value, "ended")))
      out.push_back({static_cast<std::uint32_t>(job_id), static_cast<std::uint32_t>(uid),
                     static_cast<std::uint32_t>(restarts), submit});
  }
  return true;
}

bool parse_families(const std::string& body, std::vector<FamilyRecord>& out, std::string& error) {
  out.clear();
  const wire::Json root = parse_object(body, "families", error);
  if (!root) return false;
  const json_t* families = json_object_get(root.get(), "families");
  if (!json_is_array(families)) {
    error = "families: an array is missing";
    return false;
  }
  std::size_t i = 0;
  const json_t* value = nullptr;
  json_array_foreach(families, i, value) {
    FamilyRecord record;
    if (parse_family(value, record)) out.push_back(record);
  }
  return true;
}

}  // namespace mlq::engine
