// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/http_client.hpp"

#include <algorithm>
#include <stdexcept>

namespace mlq::engine {
namespace {

struct FreeList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void append(HeaderList& list, const char* header) {
  curl_slist* longer = curl_slist_append(list.get(), header);
  if (longer == nullptr) throw std::bad_alloc();
  (void)list.release();
  list.reset(longer);
}

}  // namespace

HttpClient::HttpClient() : handle_(curl_easy_init()) {
  if (!handle_) throw std::runtime_error("libcurl: no memory for a handle");
}

void HttpClient::set_url(const std::string& url) {
  const bool is_socket = url.starts_with("unix:");
  const std::string socket = is_socket ? url.substr(5) : std::string();
  const std::string base = is_socket ? "http://mlqd" : url;
  if (socket == socket_ && base == base_) return;
  handle_.reset(curl_easy_init());
  if (!handle_) throw std::runtime_error("libcurl: no memory for a handle");
  socket_ = socket;
  base_ = base;
}

std::size_t HttpClient::receive(char* data, std::size_t size, std::size_t count, void* reply) noexcept {
  const std::size_t bytes = size * count;
  std::string& body = static_cast<Reply*>(reply)->body;
  if (bytes > max_reply - std::min(body.size(), max_reply)) return 0;  // libcurl then ends the transfer
  try {
    body.append(data, bytes);
  } catch (...) {
    return 0;
  }
  return bytes;
}

int HttpClient::progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
  return static_cast<HttpClient*>(self)->stopped_ ? 1 : 0;
}

void HttpClient::prepare(const std::string& target, std::chrono::milliseconds limit, Reply& reply) {
  CURL* curl = handle_.get();
  curl_easy_reset(curl);  // keeps the connection
  curl_easy_setopt(curl, CURLOPT_URL, (base_ + target).c_str());
  if (!socket_.empty()) curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket_.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(limit.count()));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limit.count()));
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // slurmctld's environment says nothing about mlqd
  curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXCONNECTS, 1L);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &HttpClient::progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &HttpClient::receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply);
}

Reply HttpClient::request(const std::string& target, const std::string& bearer, const std::string* json,
                          std::chrono::milliseconds limit) {
  Reply reply;
  if (limit.count() < 1 || stopped_) {
    reply.error = stopped_ ? "stopped" : "no time left in this cycle";
    return reply;
  }
  prepare(target, limit, reply);
  CURL* curl = handle_.get();
  HeaderList headers;
  append(headers, "Expect:");
  if (!bearer.empty()) append(headers, ("Authorization: Bearer " + bearer).c_str());
  if (json != nullptr) {
    append(headers, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json->data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json->size()));
  }
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_OK) {
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  } else {
    reply.body.clear();
    reply.error = code == CURLE_WRITE_ERROR ? "reply longer than 16 MiB" : curl_easy_strerror(code);
  }
  return reply;
}

std::string HttpClient::escape(const std::string& value) const {
  const std::unique_ptr<char, decltype(&curl_free)> text(
      curl_easy_escape(handle_.get(), value.c_str(), static_cast<int>(value.size())), &curl_free);
  if (!text) throw std::bad_alloc();
  return text.get();
}

}  // namespace mlq::engine
