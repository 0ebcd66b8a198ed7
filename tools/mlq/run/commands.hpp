// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's commands, started in the background with a deadline.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tools/mlq/run/processes.hpp"

namespace mlq::run {

struct CommandResult {
  int status = -1;            ///< exit status; -1 = not started, ended by a signal or by the deadline
  std::string output, error;  ///< at most 1 MiB each; error says why when it was not started or took too long
};

class Commands {
 public:
  using Done = std::function<void(const CommandResult&)>;

  Commands(Loop& loop, Processes& processes, Environment environment)
      : loop_(loop), processes_(processes), environment_(std::move(environment)) {}
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  /// `done` comes later, once; never after this object is gone. `more` adds to the environment.
  void run(const std::vector<std::string>& command, Seconds limit, Done done,
           const Environment* instead = nullptr);
  bool idle() const { return running_.empty(); }

 private:
  struct Running;
  void read_from(const std::shared_ptr<Running>& running, int which);
  void settle(const std::shared_ptr<Running>& running);
  void close_end(Running& running, int which);

  Loop& loop_;
  Processes& processes_;
  Environment environment_;
  std::set<std::shared_ptr<Running>> running_;
};

}  // namespace mlq::run
