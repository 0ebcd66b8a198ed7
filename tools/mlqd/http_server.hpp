// SPDX-License-Identifier: GPL-2.0-or-later
// libmicrohttpd around Service: epoll, a pool of threads, requests suspended while the writer commits.
#pragma once

#include <microhttpd.h>

#include <atomic>
#include <memory>
#include <set>

#include "tools/mlqd/connections.hpp"
#include "tools/mlqd/listener.hpp"
#include "tools/mlqd/metrics.hpp"
#include "tools/mlqd/rate_limiter.hpp"
#include "tools/mlqd/service.hpp"

namespace mlq::mlqd {

struct ServerOptions {
  bool local = false;  ///< a Unix socket
  unsigned threads = 2;
  unsigned connections = 16384;
  unsigned idle_timeout = 30;  ///< seconds without a byte
  std::size_t connections_per_uid = 256;
  std::int64_t body_memory = 128 << 20;  ///< bytes of bodies at a time, all together
  std::set<std::uint32_t> trusted_uids;
};

class HttpServer {
 public:
  HttpServer(Service& service, Metrics& metrics, Socket socket, ServerOptions options);
  ~HttpServer();

  void refuse_new();  ///< no new connections; further requests on old ones get 503
  bool idle() const noexcept { return active_ == 0; }
  void stop();  ///< all paused requests must have been answered

 private:
  struct Exchange;

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                               const char* version, const char* data, std::size_t* size, void** context);
  static void on_completed(void* self, MHD_Connection* connection, void** context,
                           MHD_RequestTerminationCode code);
  static void on_connection(void* self, MHD_Connection* connection, void** context,
                            MHD_ConnectionNotificationCode code);

  std::unique_ptr<Connections::Entry> take_in(MHD_Connection* connection);
  MHD_Result start(Exchange& exchange, const char* url, const char* method);
  MHD_Result take_body(Exchange& exchange, const char* data, std::size_t size);
  MHD_Result finish(Exchange& exchange);
  MHD_Result send(Exchange& exchange);
  void refuse(Exchange& exchange, Response response);
  void log_refusal(const Exchange& exchange);

  Service& service_;
  Metrics& metrics_;
  ServerOptions options_;
  Connections connections_;
  RateLimiter log_limiter_{0.2, 20};  ///< of lines about refused requests
  std::atomic<bool> refusing_{false};
  std::atomic<std::int64_t> active_{0};
  Socket quiesced_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace mlq::mlqd
