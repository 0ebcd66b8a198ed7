// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "core/token/job_token.h"
#include "tools/mlqd/daemon.hpp"
#include "tools/mlqd/log.hpp"

namespace {

using mlq::mlqd::Level;
using mlq::mlqd::log;

int make_key(const char* path) {
  char error[MLQ_TOKEN_ERROR_MAX];
  if (mlq_key_create(path, error, sizeof error) == 0) return 0;
  std::fprintf(stderr, "mlqd: error: %s\n", error);
  return 1;
}

/// Signals are waited for, never handled: every thread has them blocked.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is a full disk: the store says so
  return signals;
}

void serve(const mlq::mlqd::Options& options) {
  const sigset_t signals = block_signals();
  mlq::mlqd::Daemon daemon(options);
  log(Level::info, "ready: jobs by %s, scheduler by %s, store %s", options.listen.c_str(),
      options.socket.c_str(), options.store.c_str());
  for (int number = 0; sigwait(&signals, &number) == 0 && number == SIGHUP;) daemon.reload_key();
  log(Level::info, "stopping");
  daemon.stop();
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = -1;
  try {
    const mlq::mlqd::Options options = mlq::mlqd::parse_options(argc, argv, exit_code);
    if (exit_code >= 0) return exit_code;
    umask(077);
    if (!options.make_key.empty()) return make_key(options.make_key.c_str());
    if (options.verbose) mlq::mlqd::set_log_level(Level::debug);
    serve(options);
    return 0;
  } catch (const std::exception& error) {
    log(Level::error, "%s", error.what());
    return 1;
  }
}
