// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace mlq::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kOutputMax = std::size_t{4} << 20;

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int end(std::size_t which) const { return ends_[which]; }
  void close_end(std::size_t which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// -1 when it cannot be started.
pid_t spawn(const std::vector<std::string>& command, const Pipe& out) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.end(1), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  if (posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) child = -1;
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

/// Until the child closed its output, or false after the deadline.
bool listen_to(Pipe& out, std::string& text, Clock::time_point deadline) {
  std::array<char, 65536> buffer;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd file{out.end(0), POLLIN, 0};
    if (poll(&file, 1, static_cast<int>(left)) <= 0) continue;
    const ssize_t got = read(out.end(0), buffer.data(), buffer.size());
    if (got == 0) return true;
    if (got > 0)
      text.append(buffer.data(), std::min(static_cast<std::size_t>(got), kOutputMax - text.size()));
  }
}

}  // namespace

std::optional<ChildResult> run_child(const std::vector<std::string>& command,
                                     std::chrono::milliseconds limit) {
  Pipe out;
  if (out.end(0) < 0) return std::nullopt;
  const pid_t child = spawn(command, out);
  if (child < 0) return std::nullopt;
  out.close_end(1);

  ChildResult result;
  result.timed_out = !listen_to(out, result.output, Clock::now() + limit);
  if (result.timed_out) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

}  // namespace mlq::cli
