// SPDX-License-Identifier: GPL-2.0-or-later
// `mlq run` in a batch script: the job's agent. It ties the group, its own workers, the other nodes, mlqd and
// the companions together.
#pragma once

#include <string>
#include <vector>

namespace mlq::run {

struct RunOptions {
  std::vector<std::string> command;
  std::string ranks = "unit", address, resize_signal;
  double grace = 30, lead = 0, start_limit = 60, silence = 120;  ///< seconds; lead 0 = the site's
  bool label = false, restart = false, no_resize = false, dry_run = false, quiet = false;
};

/// Runs the command to its end. Returns its exit code; throws cli::Error.
int run_head(const RunOptions& options);

/// Says on stdout what run_head() would do.
void show_plan(const RunOptions& options);

/// A signal's number from "USR1", "SIGUSR1" or "10". Throws cli::Error. 0 for "".
int parse_signal(const std::string& text);

}  // namespace mlq::run
