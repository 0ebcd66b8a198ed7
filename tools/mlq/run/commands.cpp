// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/commands.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace mlq::run {
namespace {

constexpr std::size_t kOutputMax = std::size_t{1} << 20;

}  // namespace

struct Commands::Running {
  pid_t pid = -1;
  std::array<int, 2> ends{-1, -1};  ///< of its stdout and stderr
  bool ended = false, late = false;
  int wait_status = 0;
  std::array<std::string, 2> text;
  Loop::Timer deadline = 0;
  Done done;
};

Commands::~Commands() {
  for (const auto& running : running_) {
    running->done = nullptr;
    processes_.signal(running->pid, SIGKILL);
    loop_.cancel(running->deadline);
    for (const int which : {0, 1}) close_end(*running, which);
  }
}

void Commands::close_end(Running& running, int which) {
  int& fd = running.ends[static_cast<std::size_t>(which)];
  if (fd < 0) return;
  loop_.unwatch(fd);
  close(fd);
  fd = -1;
}

void Commands::run(const std::vector<std::string>& command, Seconds limit, Done done,
                   const Environment* instead) {
  auto running = std::make_shared<Running>();
  running->done = std::move(done);
  std::array<int, 2> out{-1, -1}, err{-1, -1};
  std::string error;
  if (pipe2(out.data(), O_CLOEXEC) == 0 && pipe2(err.data(), O_CLOEXEC) == 0) {
    const Program program{command, instead ? *instead : environment_, "", -1, out[1], err[1]};
    running->pid = processes_.start(
        program,
        [this, running](int status) {
          running->ended = true;
          running->wait_status = status;
          if (running->done) settle(running);
        },
        error);
  } else {
    error = "no pipe";
  }
  for (const int fd : {out[1], err[1]})
    if (fd >= 0) close(fd);
  running->ends = {out[0], err[0]};
  running_.insert(running);
  if (running->pid < 0) {
    running->text[1] = command.front() + " cannot be started: " + error;
    running->ended = true;
    for (const int which : {0, 1}) close_end(*running, which);
    loop_.defer([this, running] {
      if (running->done) settle(running);
    });
    return;
  }
  for (const int which : {0, 1}) {
    const int fd = running->ends[static_cast<std::size_t>(which)];
    fcntl(fd, F_SETFL, O_NONBLOCK);
    loop_.watch(fd, POLLIN, [this, running, which](short) { read_from(running, which); });
  }
  running->deadline = loop_.after(limit, [this, running] {
    running->deadline = 0;
    running->late = true;
    processes_.signal(running->pid, SIGKILL);
  });
}

void Commands::read_from(const std::shared_ptr<Running>& running, int which) {
  std::array<char, 4096> chunk;
  const auto index = static_cast<std::size_t>(which);
  const ssize_t got = read(running->ends[index], chunk.data(), chunk.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  std::string& text = running->text[index];
  if (got > 0) {
    text.append(chunk.data(), std::min(static_cast<std::size_t>(got), kOutputMax - text.size()));
    return;
  }
  close_end(*running, which);
  settle(running);
}

/// Once it has ended and its output was read. Children that it left behind have been killed, so the output
/// ends.
void Commands::settle(const std::shared_ptr<Running>& running) {
  if (!running->ended || running->ends[0] >= 0 || running->ends[1] >= 0 || !running_.contains(running))
    return;
  loop_.cancel(running->deadline);
  CommandResult result;
  result.output = running->text[0];
  result.error = running->text[1];
  if (running->late)
    result.error = "it did not end in time";
  else if (running->pid >= 0 && WIFEXITED(running->wait_status))
    result.status = WEXITSTATUS(running->wait_status);
  while (result.error.ends_with('\n')) result.error.pop_back();
  running_.erase(running);
  const Done done = std::move(running->done);
  done(result);
}

}  // namespace mlq::run
