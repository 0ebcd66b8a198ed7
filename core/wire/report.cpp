// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/wire/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/wire/wire.hpp"

namespace mlq::wire {
namespace {

constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;
constexpr double kMaxTime = 1e11;
constexpr double kMaxCores = 1e7;

std::string complain(std::size_t index, const char* name, const json_t* value, const char* needed) {
  return "points[" + std::to_string(index) + "]." + name + " is " + describe(value) + ", " + needed;
}

bool parse_point(const json_t* value, std::size_t index, ReportPoint& out, std::string& error) {
  if (!json_is_object(value)) {
    error = "points[" + std::to_string(index) + "] is " + describe(value) + ", an object is needed";
    return false;
  }
  const json_t* n = json_object_get(value, "n");
  const json_t* iteration = json_object_get(value, "i");
  const json_t* loss = json_object_get(value, "l");
  const json_t* time = json_object_get(value, "t");
  const json_t* cores = json_object_get(value, "c");
  out.n = json_is_integer(n) ? json_integer_value(n) : -1;
  if (out.n < 0 || out.n > kMaxCount) {
    error = complain(index, "n", n, "a whole number from 0 to 2^53 is needed");
    return false;
  }
  if (!json_is_number(iteration)) {
    error = complain(index, "i", iteration, "a number is needed");
    return false;
  }
  out.iteration = json_number_value(iteration);
  if (!json_is_number(loss) && !json_is_null(loss)) {
    error = complain(index, "l", loss, "a number, or null for a loss that is not finite, is needed");
    return false;
  }
  out.loss = json_is_null(loss) ? std::numeric_limits<double>::quiet_NaN() : json_number_value(loss);
  out.time = json_number_value(time);
  if (!json_is_number(time) || !(out.time > 0 && out.time < kMaxTime)) {
    error = complain(index, "t", time, "seconds since the epoch, above 0 and below 1e11, are needed");
    return false;
  }
  out.cores = json_number_value(cores);
  if (cores && !json_is_null(cores) && !(json_is_number(cores) && out.cores > 0 && out.cores <= kMaxCores)) {
    error = complain(index, "c", cores, "a number above 0 and up to 1e7, or nothing, is needed");
    return false;
  }
  return true;
}

bool valid_stream(const json_t* value) {
  const std::size_t size = json_string_length(value);
  if (!json_is_string(value) || size == 0 || size > kStreamMax) return false;
  const char* text = json_string_value(value);
  return std::all_of(text, text + size, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

std::optional<Report> parse_report(std::string_view body, std::string& error) {
  const Json root = parse_object(body, error);
  if (!root || !check_version(root.get(), error)) return std::nullopt;
  const json_t* stream = json_object_get(root.get(), "stream");
  if (!valid_stream(stream)) {
    error = "stream is " + describe(stream) + ", 1 to " + std::to_string(kStreamMax) +
            " graphic ASCII characters are needed";
    return std::nullopt;
  }
  const json_t* points = json_object_get(root.get(), "points");
  if (!json_is_array(points)) {
    error = "points is " + describe(points) + ", an array is needed";
    return std::nullopt;
  }
  Report report{json_string_value(stream), {}};
  report.points.resize(json_array_size(points));
  for (std::size_t i = 0; i < report.points.size(); ++i)
    if (!parse_point(json_array_get(points, i), i, report.points[i], error)) return std::nullopt;
  return report;
}

void limit_times(Report& report, double received) noexcept {
  double ahead = 0;
  for (const ReportPoint& point : report.points) ahead = std::max(ahead, point.time - received);
  for (ReportPoint& point : report.points) point.time -= ahead;
}

}  // namespace mlq::wire
