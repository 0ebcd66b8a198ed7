// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a program without a shell.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace mlq::cli {

struct ChildResult {
  int status = -1;  ///< exit status; -1 = killed by a signal or by us
  bool timed_out = false;
  std::string output;  ///< stdout, at most 4 MiB
};

/// Looked up in PATH; stdin is empty; killed after `limit`. Nothing when it cannot be started.
std::optional<ChildResult> run_child(const std::vector<std::string>& command,
                                     std::chrono::milliseconds limit);

}  // namespace mlq::cli
