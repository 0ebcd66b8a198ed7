// SPDX-License-Identifier: GPL-2.0-or-later
// What mlqd answers: doc/protocol.md without sockets.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "tools/mlqd/http.hpp"
#include "tools/mlqd/keys.hpp"
#include "tools/mlqd/metrics.hpp"
#include "tools/mlqd/rate_limiter.hpp"
#include "tools/mlqd/reader.hpp"
#include "tools/mlqd/writer.hpp"

namespace mlq::mlqd {

struct ServiceOptions {
  std::set<std::uint32_t> admin_uids;  ///< may do by the Unix socket what a scheduler may
  std::set<std::string> clusters;      ///< whose tokens are taken; empty = any
  bool public_status = false;
  double points_rate = 1000, points_burst = 20000;  ///< of one job
  double requests_rate = 50, requests_burst = 500;  ///< of one job, user or address
  double polls_rate = 4000;                         ///< of all agents together
  std::size_t report_limit = 1 << 20;               ///< bytes of a body
  std::size_t agent_limit = 64 << 10;
  std::size_t speeds_limit = 256 << 10;
  std::size_t cycle_limit = 64 << 20;
};

class Service {
 public:
  using Reply = std::function<void(Response)>;

  Service(ServiceOptions options, const Keys& keys, Reader& reader, Writer& writer, Metrics& metrics);

  /// Looks at everything but the body: route, identity, rate. An answer means that the body is of no
  /// interest.
  std::optional<Response> begin(Request& request, double now, double monotonic);

  /// Answers at once, or returns nothing and calls `reply` once from another thread. `pause` is called before
  /// anything is handed to that thread.
  std::optional<Response> handle(Request& request, double now, double monotonic,
                                 const std::function<void()>& pause, Reply reply);

 private:
  std::optional<Response> authenticate(Request& request, double now);
  std::optional<Response> authorize(const Request& request) const;
  std::optional<Response> authorize_scheduler(const Request& request) const;
  std::optional<Response> authorize_status(const Request& request) const;
  std::optional<Response> limit_rate(Request& request, double monotonic);
  Response too_fast(const Request& request, double wait) const;
  bool trusted(const Peer& peer) const { return peer.local && options_.admin_uids.contains(peer.uid); }
  bool is_scheduler(const Request& request) const;

  std::optional<Response> report(Request& request, double now, double monotonic,
                                 const std::function<void()>& pause, Reply reply);
  std::optional<Response> add_speeds(Request& request, const std::function<void()>& pause, Reply reply);
  Response speeds(const Request& request, double now);
  std::optional<Response> agent(Request& request, double now, const std::function<void()>& pause,
                                Reply reply);
  std::optional<Response> cycle(Request& request, const std::function<void()>& pause, Reply reply);
  std::optional<Response> submit(WriteTask task, const std::function<void()>& pause);
  Response points(const Request& request, double now);
  Response families(const Request& request);
  Response jobs(const Request& request, double now, double monotonic);
  Response job(const Request& request, double now, double monotonic);
  Response target(const Request& request, const std::string& cluster, double monotonic);
  Response health();
  Response metrics(double monotonic);
  std::optional<std::string> cluster_of(const Request& request, Response& refused);

  ServiceOptions options_;
  const Keys& keys_;
  Reader& reader_;
  Writer& writer_;
  Metrics& metrics_;
  RateLimiter points_limiter_;
  RateLimiter requests_limiter_;
};

}  // namespace mlq::mlqd
