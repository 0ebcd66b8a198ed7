// SPDX-License-Identifier: GPL-2.0-or-later
// Values as text for people. Absent ones are "-".
#pragma once

#include <string>

#include "tools/mlq/job_view.hpp"

namespace mlq::cli {

/// Up to `digits` significant digits, without an exponent where that stays short.
std::string significant(const Number& value, int digits);
std::string integer(const Number& value);
std::string percent(const Number& share);
/// Slurm's [D-]HH:MM:SS, without leading zero parts: 0:07, 1:02:03, 2-00:00:00.
std::string duration(const Number& seconds);
/// Slurm's local YYYY-MM-DDTHH:MM:SS.
std::string timestamp(const Number& seconds);

/// Text of a user or a job for a terminal: control characters and broken UTF-8 become '?'.
std::string printable(const std::string& text);
/// Characters, for columns.
std::size_t width(const std::string& text);

}  // namespace mlq::cli
