// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/simulation/trace.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

namespace mlq::simulation {

namespace {

constexpr std::size_t fewest_points = 5;

std::vector<std::string_view> split(std::string_view line, char by) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(by, at), line.size());
    parts.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool number(std::string_view text, double& out) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '+')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc::result_out_of_range) {  // 1e999: infinite for our purpose
    out = text.front() == '-' ? -HUGE_VAL : HUGE_VAL;
    return true;
  }
  return error == std::errc{} && end == text.data() + text.size();
}

// Calls `row` with the columns named, in that order, of each line; false and why when a line or the header is
// wrong.
bool for_each_row(std::string_view csv, const std::vector<std::string_view>& columns, std::string& why_not,
                  const std::function<bool(const std::vector<std::string_view>&)>& row) {
  std::vector<std::size_t> place;
  std::size_t number_of_line = 0;
  for (std::string_view line : split(csv, '\n')) {
    ++number_of_line;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    const auto cells = split(line, ',');
    if (place.empty()) {
      for (std::string_view column : columns) {
        const auto found = std::find(cells.begin(), cells.end(), column);
        if (found == cells.end()) {
          why_not = "the header lacks the column " + std::string(column);
          return false;
        }
        place.push_back(static_cast<std::size_t>(found - cells.begin()));
      }
      continue;
    }
    std::vector<std::string_view> values;
    values.reserve(place.size());
    for (std::size_t p : place) values.push_back(p < cells.size() ? cells[p] : std::string_view{});
    if (!row(values)) {
      why_not = "line " + std::to_string(number_of_line) +
                " is not what the header promises: " + std::string(line.substr(0, 80));
      return false;
    }
  }
  if (place.empty()) why_not = "it is empty";
  return !place.empty();
}

bool fill_fractions(Trace& trace) {
  const double sign = trace.goal == Goal::max ? -1 : 1;
  const auto first =
      std::find_if(trace.losses.begin(), trace.losses.end(), [](double l) { return std::isfinite(l); });
  if (first == trace.losses.end()) return false;
  double best = sign * *first, least = best;
  for (double loss : trace.losses)
    if (std::isfinite(loss)) least = std::min(least, sign * loss);
  const double reduction = sign * *first - least;
  if (!(reduction > 0) || !std::isfinite(reduction)) return false;
  trace.fraction.assign(1, 0);
  for (double loss : trace.losses) {
    if (std::isfinite(loss)) best = std::min(best, sign * loss);
    trace.fraction.push_back((sign * *first - best) / reduction);
  }
  return true;
}

}  // namespace

double Trace::fraction_at(double progress) const {
  const double last = static_cast<double>(iterations());
  const double p = std::clamp(progress, 0.0, last);
  const auto low = static_cast<std::size_t>(std::min(std::floor(p), last - 1));
  return fraction[low] + (p - static_cast<double>(low)) * (fraction[low + 1] - fraction[low]);
}

double Trace::progress_to(double wanted) const {
  const auto at = std::lower_bound(fraction.begin(), fraction.end(), wanted - 1e-12);
  if (at == fraction.begin()) return 0;
  if (at == fraction.end()) return static_cast<double>(iterations());
  const auto high = static_cast<double>(at - fraction.begin());
  const double above = *at, below = *(at - 1);
  return std::clamp(high - (above - wanted) / (above - below), high - 1, high);
}

std::optional<Trace> parse_trace(std::string name, std::string_view csv, Goal goal, std::string& why_not) {
  Trace trace;
  trace.name = std::move(name);
  trace.goal = goal;
  if (!for_each_row(csv, {"loss"}, why_not, [&](const auto& cells) {
        double loss;
        if (!number(cells[0], loss)) return false;
        trace.losses.push_back(loss);
        return true;
      }))
    return std::nullopt;
  if (trace.losses.size() < fewest_points) {
    why_not = "it has " + std::to_string(trace.losses.size()) + " points, fewer than 5";
    return std::nullopt;
  }
  if (!fill_fractions(trace)) {
    why_not = "its loss never falls below the first one";
    return std::nullopt;
  }
  return trace;
}

bool parse_workload(std::string_view csv, std::vector<WorkloadEntry>& out, std::string& why_not) {
  out.clear();
  return for_each_row(csv, {"name", "time", "application", "num_replicas", "batch_size"}, why_not,
                      [&](const auto& cells) {
                        WorkloadEntry entry{std::string(cells[0]), 0, std::string(cells[2]), 1, 0};
                        if (!number(cells[1], entry.time) || !number(cells[3], entry.replicas) ||
                            !number(cells[4], entry.batch))
                          return false;
                        if (!(entry.time >= 0 && entry.time < 1e12 && entry.replicas >= 1 &&
                              entry.replicas < 1e6 && entry.batch > 0 && entry.batch < 1e12))
                          return false;
                        out.push_back(std::move(entry));
                        return true;
                      });
}

bool parse_scaling(std::string_view csv, std::vector<ScalingSample>& out, std::string& why_not) {
  out.clear();
  return for_each_row(csv, {"num_replicas", "local_bsz", "step_time"}, why_not, [&](const auto& cells) {
    ScalingSample sample;
    if (!number(cells[0], sample.replicas) || !number(cells[1], sample.local_batch) ||
        !number(cells[2], sample.seconds))
      return false;
    if (!(sample.replicas >= 1 && sample.local_batch > 0 && sample.seconds > 0 && sample.seconds < 1e9))
      return false;
    out.push_back(sample);
    return true;
  });
}

}  // namespace mlq::simulation
