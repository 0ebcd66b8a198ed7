// SPDX-License-Identifier: GPL-2.0-or-later
// The body of POST /v1/reports: a job's losses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlq::wire {

struct ReportPoint {
  std::int64_t n = 0;    ///< counts up within the stream, 0..2^53
  double iteration = 0;  ///< finite
  double loss = 0;       ///< NaN when the trainer's loss was not finite
  double time = 0;       ///< seconds since the epoch, in (0, 1e11)
  double cores = 0;      ///< 0 = not said
};

struct Report {
  std::string stream;  ///< 1 to kStreamMax bytes of graphic ASCII
  std::vector<ReportPoint> points;
};

inline constexpr std::size_t kStreamMax = 128;

/// Nothing, with an error that names the field and its index, when any part is wrong: all or nothing is
/// taken.
std::optional<Report> parse_report(std::string_view body, std::string& error);

/// A reporter's clock may run ahead: moves the whole batch back so that none of it lies after `received`.
void limit_times(Report& report, double received) noexcept;

}  // namespace mlq::wire
