// SPDX-License-Identifier: GPL-2.0-or-later
// Child processes of the agent, each the leader of its own process group, and the keeper that ends them when
// the agent is killed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/mlq/run/loop.hpp"

namespace mlq::run {

using Environment = std::map<std::string, std::string>;

struct Program {
  std::vector<std::string> command;  ///< looked up in PATH of `environment`
  Environment environment;
  std::string directory;  ///< "" = the agent's
  int input = -1;         ///< -1 = /dev/null
  int output = -1;        ///< -1 = the agent's own
  int error = -1;
};

class Processes {
 public:
  using Ended = std::function<void(int wait_status)>;
  using Signalled = std::function<void(int number)>;

  /// Blocks SIGCHLD and the signals that are handed on, and starts the keeper. Throws cli::Error.
  explicit Processes(Loop& loop);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  void on_signal(Signalled signalled) { signalled_ = std::move(signalled); }

  /// -1, with why in error, when it could not be started. `ended` comes once the process has been waited for;
  /// what is left of its group has been killed by then.
  pid_t start(const Program& program, Ended ended, std::string& error);

  /// To the whole group. Nothing when it has ended.
  void signal(pid_t pid, int number) const;

 private:
  void reap();
  void take_signals();
  void tell_keeper(char what, pid_t pid) const;

  Loop& loop_;
  std::map<pid_t, Ended> running_;
  Signalled signalled_;
  int signals_ = -1;
  int keeper_ = -1;
};

/// The exit status that a shell shows: 128 + signal for a process that a signal ended.
int exit_code(int wait_status);

/// This process's environment.
Environment own_environment();

}  // namespace mlq::run
