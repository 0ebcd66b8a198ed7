// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/daemon.hpp"

#include <pwd.h>
#include <unistd.h>

#include <charconv>
#include <stdexcept>
#include <thread>

#include "tools/mlqd/clock.hpp"
#include "tools/mlqd/log.hpp"

namespace mlq::mlqd {
namespace {

constexpr unsigned kLocalConnections = 2048;
constexpr std::size_t kSpareFiles = 128;  // store, log, epoll
constexpr std::size_t kMaxQueue = 20000;  // requests; each is a connection that waits
constexpr double kAnswerSeconds = 3;      // for the last answers to reach their clients

std::uint32_t uid_of(const std::string& user) {
  std::uint32_t uid = 0;
  const auto [end, code] = std::from_chars(user.data(), user.data() + user.size(), uid);
  if (code == std::errc() && end == user.data() + user.size()) return uid;
  char buffer[16384];
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(user.c_str(), &entry, buffer, sizeof buffer, &found) != 0 || !found)
    throw std::runtime_error("admin-user: \"" + user + "\" is no user of this machine");
  return found->pw_uid;
}

std::vector<std::string> key_files(const Options& options) {
  std::vector<std::string> files{options.key};
  files.insert(files.end(), options.accept_keys.begin(), options.accept_keys.end());
  return files;
}

ServiceOptions service_options(const Options& options) {
  ServiceOptions out;
  out.admin_uids = {0, geteuid()};
  for (const std::string& user : options.admin_users) out.admin_uids.insert(uid_of(user));
  out.clusters = {options.clusters.begin(), options.clusters.end()};
  out.public_status = options.public_status;
  out.points_rate = options.rate;
  out.points_burst = options.burst;
  out.requests_rate = options.request_rate;
  out.requests_burst = options.request_burst;
  out.polls_rate = options.poll_rate;
  out.report_limit = options.max_body;
  return out;
}

RetentionLimits retention_limits(const Options& options) {
  RetentionLimits limits;
  limits.keep_seconds = options.keep_days * 86400;
  limits.max_bytes = static_cast<std::int64_t>(options.max_size);
  return limits;
}

/// As many as the limit of open files leaves.
unsigned connections_by_tcp(const Options& options) {
  const std::size_t wanted = options.connections + kLocalConnections + kSpareFiles;
  const std::size_t allowed = raise_file_limit(wanted);
  if (allowed >= wanted) return options.connections;
  const std::size_t rest =
      allowed > kLocalConnections + kSpareFiles + 64 ? allowed - kLocalConnections - kSpareFiles : 64;
  log(Level::warning,
      "the limit of open files is %zu: %zu connections by TCP instead of %u (LimitNOFILE, ulimit -n)",
      allowed, rest, options.connections);
  return static_cast<unsigned>(rest);
}

}  // namespace

Daemon::Daemon(const Options& options)
    : options_(options),
      keys_(key_files(options)),
      store_(options.store),
      reader_(options.store, 2 * options.threads + 2),
      writer_(store_, retention_limits(options), kMaxQueue),
      service_(service_options(options), keys_, reader_, writer_, metrics_) {
  std::string error;
  if (!keys_.load(error)) throw std::runtime_error(error);
  ServerOptions server;
  server.threads = options.threads;
  server.idle_timeout = options.idle_timeout;
  server.trusted_uids = service_options(options).admin_uids;
  server.connections = connections_by_tcp(options);
  // every listener is open before anybody is answered: a start that fails has taken nothing
  Socket local = listen_unix(options.socket);
  Socket tcp = options.listen == "off" ? Socket() : listen_tcp(options.listen);
  if (tcp.get() >= 0)
    servers_.push_back(std::make_unique<HttpServer>(service_, metrics_, std::move(tcp), server));
  server.local = true;
  server.connections = kLocalConnections;
  servers_.push_back(std::make_unique<HttpServer>(service_, metrics_, std::move(local), server));
}

Daemon::~Daemon() {
  stop();
}

void Daemon::reload_key() {
  std::string error;
  if (keys_.load(error)) {
    log(Level::info, "key read anew");
  } else {
    log(Level::error, "the key stays as it was: %s", error.c_str());
  }
}

void Daemon::stop() {
  if (servers_.empty()) return;
  for (const auto& server : servers_) server->refuse_new();
  writer_.stop();
  const double until = monotonic_seconds() + kAnswerSeconds;
  for (const auto& server : servers_)
    while (!server->idle() && monotonic_seconds() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  for (const auto& server : servers_) server->stop();
  servers_.clear();
  unlink(options_.socket.c_str());
}

}  // namespace mlq::mlqd
