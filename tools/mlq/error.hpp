// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <stdexcept>

namespace mlq::cli {

/// Ends the command: main() prints `mlq: error: text` and returns 1. The text says what to do.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace mlq::cli
