// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>

#include "tools/mlq/error.hpp"

namespace mlq::run {
namespace {

constexpr std::array kHandedOn{SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP};

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int number : kHandedOn) sigaddset(&set, number);
  return set;
}

struct KeeperOrder {
  char what;  ///< '+' a group to end with the agent, '-' one that has ended
  pid_t pid;
};

/// Lives until the agent has closed its end, which the kernel does for an agent that is killed.
[[noreturn]] void keep(int orders, pid_t agent) {
  setsid();
  prctl(PR_SET_NAME, "mlq-keeper");
  for (const int number : kHandedOn) std::signal(number, SIG_IGN);
  // nothing of the agent's stays open here: who waits for the end of its output must not wait for this
  for (int fd = 0; fd < 1024; ++fd)
    if (fd != orders) close(fd);
  std::set<pid_t> groups;
  KeeperOrder order{};
  for (;;) {
    const ssize_t got = recv(orders, &order, sizeof(order), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof(order)) break;
    if (order.what == '+') groups.insert(order.pid);
    if (order.what == '-') groups.erase(order.pid);
  }
  for (const pid_t group : groups)
    if (group != agent) kill(-group, SIGKILL);
  _exit(0);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> assignments(const Environment& environment) {
  std::vector<std::string> list;
  list.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    list.push_back(name);
    list.back().append("=").append(value);
  }
  return list;
}

/// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(const Program& program, char* const* command, char** variables, pid_t agent,
                         int status) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != agent) _exit(127);
  for (const int number : kHandedOn) std::signal(number, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);  // else `writer | head` in a training would not end
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = program.input >= 0 ? program.input : open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  if (program.output >= 0) dup2(program.output, STDOUT_FILENO);
  if (program.error >= 0) dup2(program.error, STDERR_FILENO);
  if (program.directory.empty() || chdir(program.directory.c_str()) == 0)
    execvpe(command[0], command, variables);
  const int reason = errno;
  [[maybe_unused]] const ssize_t told = write(status, &reason, sizeof(reason));
  _exit(127);
}

}  // namespace

Processes::Processes(Loop& loop) : loop_(loop) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw cli::Error(std::string("cannot start the keeper: ") + std::strerror(errno));
  const pid_t agent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw cli::Error(std::string("cannot start the keeper: ") + std::strerror(errno));
  if (pid == 0) keep(ends[1], agent);
  close(ends[1]);
  keeper_ = ends[0];

  const sigset_t set = handled_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) throw cli::Error(std::string("cannot take signals: ") + std::strerror(errno));
  loop_.watch(signals_, POLLIN, [this](short) { take_signals(); });
}

Processes::~Processes() {
  loop_.unwatch(signals_);
  close(signals_);
  close(keeper_);
}

void Processes::tell_keeper(char what, pid_t pid) const {
  const KeeperOrder order{what, pid};
  send(keeper_, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Processes::take_signals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD)
      loop_.defer([this] { reap(); });  // after the signals that came with it
    else if (signalled_)
      signalled_(number);
  }
}

void Processes::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = running_.find(pid);
    if (found == running_.end()) continue;
    kill(-pid, SIGKILL);  // children that it left behind
    tell_keeper('-', pid);
    const Ended ended = std::move(found->second);
    running_.erase(found);
    ended(status);
  }
}

pid_t Processes::start(const Program& program, Ended ended, std::string& error) {
  std::array<int, 2> status{};
  if (pipe2(status.data(), O_CLOEXEC) != 0) {
    error = std::strerror(errno);
    return -1;
  }
  const std::vector<std::string> variables = assignments(program.environment);
  const std::vector<char*> command = pointers(program.command);
  std::vector<char*> environment = pointers(variables);
  const pid_t agent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(program, command.data(), environment.data(), agent, status[1]);
  int reason = pid < 0 ? errno : 0;
  close(status[1]);
  if (pid > 0) {
    setpgid(pid, pid);  // whoever of the two comes first
    tell_keeper('+', pid);
    while (read(status[0], &reason, sizeof(reason)) < 0 && errno == EINTR) {
    }
  }
  close(status[0]);
  if (pid > 0 && reason == 0) {
    running_[pid] = std::move(ended);
    return pid;
  }
  if (pid > 0) {
    waitpid(pid, nullptr, 0);
    tell_keeper('-', pid);
  }
  error = std::strerror(reason);
  return -1;
}

void Processes::signal(pid_t pid, int number) const {
  if (running_.contains(pid)) kill(-pid, number);
}

int exit_code(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : 1;
}

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos && equals > 0)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

}  // namespace mlq::run
