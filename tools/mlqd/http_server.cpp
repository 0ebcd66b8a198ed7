// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/http_server.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "tools/mlqd/clock.hpp"
#include "tools/mlqd/log.hpp"

namespace mlq::mlqd {
namespace {

constexpr std::size_t kDiscardLimit =
    16 << 20;                        // bytes of an unwanted body read so that its sender sees the answer
constexpr double kBodySeconds = 60;  // for a whole body, however busily it trickles

void log_library(void*, const char* format, va_list arguments) {
  char line[512];
  std::vsnprintf(line, sizeof line, format, arguments);
  line[std::strcspn(line, "\n")] = '\0';
  log(Level::debug, "libmicrohttpd: %s", line);
}

std::string header(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value ? value : "";
}

int socket_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

Connections::Entry* entry_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? static_cast<Connections::Entry*>(info->socket_context) : nullptr;
}

Peer peer_of(MHD_Connection* connection, bool local) {
  Peer peer;
  peer.local = local;
  if (local) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (getsockopt(socket_of(connection), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0)
      peer.uid = credentials.uid;
    return peer;
  }
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  char host[NI_MAXHOST] = "unknown";
  if (info && info->client_addr) {
    const socklen_t size =
        info->client_addr->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    getnameinfo(info->client_addr, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  }
  peer.address = host;
  return peer;
}

MHD_Result take_argument(void* request, MHD_ValueKind, const char* name, const char* value) {
  try {
    static_cast<Request*>(request)->arguments.try_emplace(name, value ? value : "");
    return MHD_YES;
  } catch (const std::exception&) {  // out of memory, in the middle of the library's C
    return MHD_NO;
  }
}

}  // namespace

/// One request on its way.
struct HttpServer::Exchange {
  MHD_Connection* connection = nullptr;
  Connections::Entry* entry = nullptr;
  Request request;
  std::optional<Response> response;
  std::size_t received = 0;
  double started = 0;
  bool handled = false;
  bool busy = false;
};

HttpServer::HttpServer(Service& service, Metrics& metrics, Socket socket, ServerOptions options)
    : service_(service),
      metrics_(metrics),
      options_(std::move(options)),
      connections_(options_.connections * 3 / 4, options_.connections_per_uid) {
  const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  daemon_ = MHD_start_daemon(flags, 0, nullptr, nullptr, &HttpServer::on_request, this,
                             MHD_OPTION_EXTERNAL_LOGGER, &log_library, nullptr, MHD_OPTION_LISTEN_SOCKET,
                             socket.get(), MHD_OPTION_THREAD_POOL_SIZE, options_.threads,
                             MHD_OPTION_CONNECTION_LIMIT, options_.connections, MHD_OPTION_CONNECTION_TIMEOUT,
                             options_.idle_timeout, MHD_OPTION_CONNECTION_MEMORY_LIMIT, std::size_t{16384},
                             MHD_OPTION_NOTIFY_COMPLETED, &HttpServer::on_completed, this,
                             MHD_OPTION_NOTIFY_CONNECTION, &HttpServer::on_connection, this, MHD_OPTION_END);
  if (!daemon_) throw std::runtime_error("the HTTP server does not start: out of threads, files or memory");
  socket.release();  // libmicrohttpd's from here on
}

HttpServer::~HttpServer() {
  stop();
}

void HttpServer::refuse_new() {
  refusing_ = true;
  if (daemon_ && quiesced_.get() < 0) quiesced_ = Socket(MHD_quiesce_daemon(daemon_));
}

void HttpServer::stop() {
  if (daemon_) MHD_stop_daemon(daemon_);
  daemon_ = nullptr;
}

void HttpServer::on_connection(void* self, MHD_Connection* connection, void** context,
                               MHD_ConnectionNotificationCode code) {
  auto& server = *static_cast<HttpServer*>(self);
  auto& gauge = server.options_.local ? server.metrics_.local_connections : server.metrics_.job_connections;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    try {
      *context = server.take_in(connection).release();
      ++gauge;
    } catch (const std::exception& error) {  // out of memory
      log(Level::error, "connection given up: %s", error.what());
    }
  } else if (*context) {
    const std::unique_ptr<Connections::Entry> entry(static_cast<Connections::Entry*>(*context));
    server.connections_.close(*entry);
    --gauge;
    *context = nullptr;
  }
}

std::unique_ptr<Connections::Entry> HttpServer::take_in(MHD_Connection* connection) {
  auto entry = std::make_unique<Connections::Entry>();
  entry->socket = socket_of(connection);
  entry->peer = peer_of(connection, options_.local);
  entry->trusted = entry->peer.local && options_.trusted_uids.contains(entry->peer.uid);
  metrics_.evicted += connections_.open(*entry);
  return entry;
}

MHD_Result HttpServer::on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                                  const char*, const char* data, std::size_t* size, void** context) {
  auto& server = *static_cast<HttpServer*>(self);
  try {
    if (!*context) {
      auto exchange = std::make_unique<Exchange>();
      exchange->connection = connection;
      ++server.active_;
      auto& started = *exchange;
      *context = exchange.release();
      if (!(started.entry = entry_of(connection))) return MHD_NO;
      return server.start(started, url, method);
    }
    auto& exchange = *static_cast<Exchange*>(*context);
    if (*size == 0) return server.finish(exchange);
    const std::size_t given = *size;
    *size = 0;
    return server.take_body(exchange, data, given);
  } catch (const std::exception& error) {  // out of memory
    log(Level::error, "request given up: %s", error.what());
    return MHD_NO;
  }
}

void HttpServer::refuse(Exchange& exchange, Response response) {
  metrics_.body_bytes -= static_cast<std::int64_t>(exchange.request.body.capacity());
  exchange.request.body = std::string();
  metrics_.body_bytes += static_cast<std::int64_t>(exchange.request.body.capacity());
  exchange.response = std::move(response);
}

MHD_Result HttpServer::start(Exchange& exchange, const char* url, const char* method) {
  MHD_Connection* connection = exchange.connection;
  Request& request = exchange.request;
  metrics_.body_bytes += static_cast<std::int64_t>(request.body.capacity());
  exchange.started = monotonic_seconds();
  request.method = method;
  request.path = url;
  request.peer = exchange.entry->peer;
  if (const std::string value = header(connection, MHD_HTTP_HEADER_AUTHORIZATION); !value.empty())
    request.authorization = value;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &take_argument, &request);
  if (refusing_) {
    refuse(exchange, error_response(503, "mlqd is being stopped"));
    exchange.response->retry_after = 2;
  } else {
    exchange.response = service_.begin(request, wall_seconds(), exchange.started);
  }
  const std::string length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
  std::uint64_t announced = 0;
  std::from_chars(length.data(), length.data() + length.size(), announced);
  if (!exchange.response && announced > request.body_limit)
    refuse(exchange, error_response(413, "the body has " + length + " bytes, at most " +
                                             std::to_string(request.body_limit) + " are allowed"));
  if (!exchange.response) {
    connections_.set_busy(*exchange.entry);
    exchange.busy = true;
  }
  // a short body is read before it is refused, for many clients read no answer while they send
  return exchange.response && announced > kDiscardLimit ? send(exchange) : MHD_YES;
}

MHD_Result HttpServer::take_body(Exchange& exchange, const char* data, std::size_t size) {
  exchange.received += size;
  if (monotonic_seconds() - exchange.started > kBodySeconds) return MHD_NO;
  if (exchange.response) return exchange.received > kDiscardLimit ? MHD_NO : MHD_YES;
  if (exchange.received > exchange.request.body_limit) {
    refuse(exchange,
           error_response(413, "the body is longer than the " + std::to_string(exchange.request.body_limit) +
                                   " bytes that are allowed"));
    return MHD_YES;
  }
  std::string& body = exchange.request.body;
  const std::size_t before = body.capacity();
  if (exchange.received > before && !exchange.entry->trusted && metrics_.body_bytes > options_.body_memory) {
    refuse(exchange, error_response(503, "too many bodies are under way"));
    exchange.response->retry_after = 1;
    return MHD_YES;
  }
  body.append(data, size);
  metrics_.body_bytes += static_cast<std::int64_t>(body.capacity()) - static_cast<std::int64_t>(before);
  return MHD_YES;
}

MHD_Result HttpServer::finish(Exchange& exchange) {
  if (exchange.response) return send(exchange);
  if (exchange.handled) return MHD_NO;
  exchange.handled = true;
  metrics_.received_bytes += exchange.received;
  // when nothing comes back, the writer's thread owns the answer from pause() on
  auto response = service_.handle(
      exchange.request, wall_seconds(), monotonic_seconds(),
      [&exchange] { MHD_suspend_connection(exchange.connection); },
      [&exchange](Response response) {
        exchange.response = std::move(response);
        MHD_resume_connection(exchange.connection);
      });
  if (!response) return MHD_YES;
  exchange.response = std::move(response);
  return send(exchange);
}

/// Enough lines to see what goes wrong, not so many that a hostile caller fills the log.
void HttpServer::log_refusal(const Exchange& exchange) {
  const double now = monotonic_seconds();
  const bool often = log_limiter_.wait("", now) > 0;
  if (!often) log_limiter_.spend("", 1, now);
  const Request& request = exchange.request;
  std::string who = request.limited_as;
  if (who.empty())
    who = request.peer.local ? "uid " + std::to_string(request.peer.uid) : "address " + request.peer.address;
  log(often ? Level::debug : Level::info, "%s %s of %s: %u %.300s", request.method.c_str(),
      request.path.c_str(), who.c_str(), exchange.response->status, exchange.response->body.c_str());
}

MHD_Result HttpServer::send(Exchange& exchange) {
  const Response& response = *exchange.response;
  MHD_Response* message = MHD_create_response_from_buffer(
      response.body.size(), const_cast<char*>(response.body.data()), MHD_RESPMEM_MUST_COPY);
  if (!message) return MHD_NO;
  MHD_add_response_header(message, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type.c_str());
  MHD_add_response_header(message, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  if (response.retry_after > 0) {
    const auto seconds = std::to_string(static_cast<long>(std::min(3600.0, std::ceil(response.retry_after))));
    MHD_add_response_header(message, MHD_HTTP_HEADER_RETRY_AFTER, seconds.c_str());
  }
  if (!response.allow.empty())
    MHD_add_response_header(message, MHD_HTTP_HEADER_ALLOW, response.allow.c_str());
  if (response.status == 401) MHD_add_response_header(message, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
  if (refusing_) MHD_add_response_header(message, MHD_HTTP_HEADER_CONNECTION, "close");
  const MHD_Result result = MHD_queue_response(exchange.connection, response.status, message);
  MHD_destroy_response(message);
  metrics_.count_answer(response.status);
  if (response.status >= 400) log_refusal(exchange);
  return result;
}

void HttpServer::on_completed(void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
  auto& server = *static_cast<HttpServer*>(self);
  const std::unique_ptr<Exchange> exchange(static_cast<Exchange*>(*context));
  if (!exchange) return;
  *context = nullptr;
  server.metrics_.body_bytes -= static_cast<std::int64_t>(exchange->request.body.capacity());
  if (exchange->busy) server.connections_.set_idle(*exchange->entry);
  --server.active_;
}

}  // namespace mlq::mlqd
