// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/job_view.hpp"

#include <pwd.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tools/mlq/format.hpp"

namespace mlq::cli {
namespace {

struct NumberMember {
  const char* name;
  Number JobView::*member;
};
constexpr NumberMember kInfoNumbers[] = {
    {"submit", &JobView::submit},
    {"start", &JobView::start},
    {"end", &JobView::end},
    {"cores", &JobView::cores},
    {"restarts", &JobView::restarts},
    {"array_job_id", &JobView::array_job_id},
    {"array_task_id", &JobView::array_task_id},
};
constexpr NumberMember kStatusNumbers[] = {
    {"iteration", &JobView::iteration},
    {"loss", &JobView::loss},
    {"first_loss", &JobView::first_loss},
    {"best_loss", &JobView::best_loss},
    {"points", &JobView::points},
    {"last_report", &JobView::last_report},
    {"fraction", &JobView::fraction},
    {"gain", &JobView::gain},
    {"gain_per_core", &JobView::gain_per_core},
    {"score", &JobView::score},
    {"rank", &JobView::rank},
    {"ranked", &JobView::ranked},
    {"site_factor", &JobView::site_factor},
    {"rate", &JobView::rate},
    {"horizon", &JobView::horizon},
    {"core_seconds", &JobView::core_seconds},
};

struct TextMember {
  const char* name;
  std::string JobView::*member;
};
constexpr TextMember kInfoTexts[] = {
    {"user", &JobView::user},   {"account", &JobView::account}, {"partition", &JobView::partition},
    {"name", &JobView::name},   {"family", &JobView::family},   {"request", &JobView::request},
    {"state", &JobView::state},
};
constexpr TextMember kStatusTexts[] = {
    {"model", &JobView::model},
    {"verdict", &JobView::verdict},
    {"source", &JobView::source},
    {"reason", &JobView::reason},
};

struct ForecastMember {
  const char* name;
  Number ForecastView::*member;
};
constexpr ForecastMember kForecastNumbers[] = {
    {"iterations", &ForecastView::iterations}, {"now", &ForecastView::now},
    {"predicted", &ForecastView::predicted},   {"lower", &ForecastView::lower},
    {"upper", &ForecastView::upper},
};

std::string user_name(std::uint32_t uid) {
  const passwd* entry = getpwuid(uid);
  return entry ? entry->pw_name : std::to_string(uid);
}

}  // namespace

JobView read_job(const json_t* job) {
  JobView view;
  const json_t* status = json_object_get(job, "status");
  view.job_id = static_cast<std::uint32_t>(json_integer_value(json_object_get(job, "job_id")));
  view.uid = static_cast<std::uint32_t>(json_integer_value(json_object_get(job, "uid")));
  view.ended = json_is_true(json_object_get(job, "ended"));
  for (const auto& [name, member] : kInfoNumbers) view.*member = number(job, name);
  for (const auto& [name, member] : kInfoTexts) view.*member = text(job, name);
  for (const auto& [name, member] : kStatusNumbers) view.*member = number(status, name);
  for (const auto& [name, member] : kStatusTexts) view.*member = text(status, name);
  for (const auto& [name, member] : kForecastNumbers)
    view.forecast.*member = number(json_object_get(status, "forecast"), name);
  view.size = read_size(job);
  // mlqd's own count and time are newer than the scheduler's
  if (const Number stored = number(job, "stored"); stored && (*stored > 0 || view.points))
    view.points = stored;
  if (const Number last = number(job, "last_report")) view.last_report = last;
  if (view.user.empty()) view.user = user_name(view.uid);
  if (view.start == 0.0) view.start.reset();
  if (view.end == 0.0) view.end.reset();
  return view;
}

std::vector<CurvePoint> read_points(const json_t* points) {
  std::vector<CurvePoint> curve;
  std::size_t index = 0;
  json_t* values = nullptr;
  json_array_foreach(points, index, values) {
    const Number iteration = number(json_array_get(values, 0)), time = number(json_array_get(values, 2));
    if (iteration && time)
      curve.push_back(
          {*iteration, number(json_array_get(values, 1)), *time, number(json_array_get(values, 3))});
  }
  return curve;
}

std::vector<RankView> read_ranks(const json_t* batches) {
  std::vector<RankView> ranks;
  std::size_t index = 0, at = 0;
  json_t *node = nullptr, *row = nullptr;
  json_array_foreach(batches, index, node) {
    const Number received = number(node, "received");
    json_array_foreach(json_object_get(node, "ranks"), at, row) {
      const Number rank = number(json_array_get(row, 0));
      if (!rank || !received) continue;
      ranks.push_back({static_cast<std::uint32_t>(*rank), text(node, "node"), number(json_array_get(row, 1)),
                       number(json_array_get(row, 2)), *received});
    }
  }
  std::stable_sort(ranks.begin(), ranks.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
  return ranks;
}

CycleView read_cycle(const json_t* cycle) {
  return {number(cycle, "time"), number(cycle, "weight"), number(cycle, "horizon"), number(cycle, "interval"),
          text(cycle, "mode")};
}

std::string shown_id(const JobView& job) {
  if (!job.array_job_id || !job.array_task_id) return std::to_string(job.job_id);
  return integer(job.array_job_id) + "_" + integer(job.array_task_id);
}

Number age(const JobView& job, double now) {
  if (!job.last_report || *job.last_report <= 0) return std::nullopt;
  return std::max(0.0, now - *job.last_report);
}

wire::Json job_json(const JobView& job, double now) {
  wire::Json object(json_object());
  json_object_set_new(object.get(), "job_id", json_integer(job.job_id));
  json_object_set_new(object.get(), "uid", json_integer(job.uid));
  json_object_set_new(object.get(), "ended", json_boolean(job.ended));
  for (const auto& [name, member] : kInfoTexts)
    json_object_set_new(object.get(), name, text_json(job.*member));
  for (const auto& [name, member] : kInfoNumbers)
    json_object_set_new(object.get(), name, number_json(job.*member));
  for (const auto& [name, member] : kStatusNumbers)
    json_object_set_new(object.get(), name, number_json(job.*member));
  for (const auto& [name, member] : kStatusTexts)
    json_object_set_new(object.get(), name, text_json(job.*member));
  json_t* forecast = json_object();
  for (const auto& [name, member] : kForecastNumbers)
    json_object_set_new(forecast, name, number_json(job.forecast.*member));
  json_object_set_new(object.get(), "forecast", forecast);
  json_object_set_new(object.get(), "size", size_json(job.size).release());
  json_object_set_new(object.get(), "age", number_json(age(job, now)));
  return object;
}

bool shown_before(const JobView& left, const JobView& right) {
  const auto key = [](const JobView& job) {
    return std::make_tuple(job.ended, !job.rank.has_value(), job.rank.value_or(0), job.job_id);
  };
  return key(left) < key(right);
}

}  // namespace mlq::cli
