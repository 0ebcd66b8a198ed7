// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/client/balance/poster.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "mlq_build.h"

namespace mlq::balance {
namespace {

constexpr long kConnectMs = 3000, kRequestMs = 10000;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::size_t ignore(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

/// Programs that the training starts do not get the connection.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace

PostTarget post_target() {
  PostTarget target;
  std::string url = environment("MLQ_URL");
  const std::string token = environment("MLQ_TOKEN");
  const auto graphic = [](char c) { return c > ' ' && c <= '~'; };
  if (url.empty() || token.empty() || !std::all_of(token.begin(), token.end(), graphic)) return {};
  while (url.ends_with('/')) url.pop_back();
  if (url.starts_with("unix:/")) {
    target.socket_path = url.substr(5);
    url = "http://localhost";
  } else if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return {};
  }
  target.url = url + "/v1/speeds";
  target.authorization = "Authorization: Bearer " + token;
  target.ca_file = environment("MLQ_CA_FILE");
  return target;
}

Poster::~Poster() {
  delete mail_.exchange(nullptr);
}

void Poster::post(std::string message) {
  delete mail_.exchange(std::make_unique<std::string>(std::move(message)).release());
}

bool Poster::set_up() {
  if (tried_) return easy_ != nullptr;
  tried_ = true;
  target_ = post_target();
  if (target_.url.empty()) return false;
  multi_ = curl_multi_init();
  easy_ = multi_ ? curl_easy_init() : nullptr;
  if (!easy_) return false;
  headers_ = curl_slist_append(nullptr, target_.authorization.c_str());
  headers_ = curl_slist_append(headers_, "Content-Type: application/json");
  headers_ = curl_slist_append(headers_, "Expect:");
  curl_easy_setopt(easy_, CURLOPT_URL, target_.url.c_str());
  if (!target_.socket_path.empty())
    curl_easy_setopt(easy_, CURLOPT_UNIX_SOCKET_PATH, target_.socket_path.c_str());
  if (!target_.ca_file.empty()) curl_easy_setopt(easy_, CURLOPT_CAINFO, target_.ca_file.c_str());
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  curl_easy_setopt(easy_, CURLOPT_USERAGENT, "libmlq_balance/" PACKAGE_VERSION);
  curl_easy_setopt(easy_, CURLOPT_PROXY, "");  // the job's http_proxy is not for mlqd
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, kRequestMs);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, ignore);
  curl_easy_setopt(easy_, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  return true;
}

void Poster::begin(const std::string& message) {
  body_ = message;
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, body_.c_str());
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE, static_cast<long>(body_.size()));
  sending_ = curl_multi_add_handle(multi_, easy_) == CURLM_OK;
}

bool Poster::work() {
  if (!sending_ && mail_.load(std::memory_order_relaxed) != nullptr) {
    const std::unique_ptr<std::string> message(mail_.exchange(nullptr));
    if (message && set_up()) begin(*message);
  }
  if (!sending_) return false;
  int running = 0;
  curl_multi_perform(multi_, &running);
  if (running == 0) {
    curl_multi_remove_handle(multi_, easy_);
    sending_ = false;
  }
  return sending_;
}

bool Poster::wait(int stop, int milliseconds) {
  if (!sending_) {
    pollfd one{stop, POLLIN, 0};
    return poll(&one, 1, milliseconds) > 0;
  }
  curl_waitfd one{stop, CURL_WAIT_POLLIN, 0};
  curl_multi_poll(multi_, &one, 1, milliseconds, nullptr);
  return one.revents != 0;
}

void Poster::close() {
  if (sending_) curl_multi_remove_handle(multi_, easy_);
  if (easy_) curl_easy_cleanup(easy_);
  if (multi_) curl_multi_cleanup(multi_);
  curl_slist_free_all(headers_);
  easy_ = multi_ = nullptr;
  headers_ = nullptr;
  sending_ = false;
}

}  // namespace mlq::balance
