// SPDX-License-Identifier: GPL-2.0-or-later
// What an option with a number may be given.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

namespace mlq {

/// Refuses NaN as well, which CLI::Range lets pass: it is neither below nor above.
inline CLI::Validator number_range(double least, double most) {
  char range[64];
  std::snprintf(range, sizeof range, "%.12g to %.12g", least, most);
  char description[80];
  std::snprintf(description, sizeof description, "FLOAT in [%.12g - %.12g]", least, most);
  const std::string allowed = range;
  return CLI::Validator(
      [=](const std::string& given) {
        double value = 0;
        const bool good = CLI::detail::lexical_cast(given, value) && value >= least && value <= most;
        return good ? std::string() : "a number from " + allowed + " is allowed, given was \"" + given + "\"";
      },
      description);
}

}  // namespace mlq
