// SPDX-License-Identifier: GPL-2.0-or-later
// One kept connection to mlqd by libcurl: hard time-outs, bounded replies, no signals, no redirects, no
// proxies.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace mlq::engine {

struct Reply {
  long status = 0;  ///< HTTP status; 0 when there was no reply
  std::string body;
  std::string error;  ///< why there was none

  bool ok() const { return status == 200; }
};

class HttpClient {
 public:
  static constexpr std::size_t max_reply = 16u << 20;  ///< bytes; a longer reply is an error

  /// Throws std::runtime_error when libcurl has no memory for a handle.
  HttpClient();

  /// "unix:/path" or "http[s]://host:port"; drops the kept connection when it changes.
  void set_url(const std::string& url);

  /// `target` begins with '/'; `bearer` may be empty; a null `json` means GET, else POST. Never longer than
  /// `limit`.
  Reply request(const std::string& target, const std::string& bearer, const std::string* json,
                std::chrono::milliseconds limit);

  /// From any thread: the request under way and all later ones fail within a second.
  void stop() noexcept { stopped_ = true; }

  /// Percent-encodes a query value.
  std::string escape(const std::string& value) const;

 private:
  struct CloseHandle {
    void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
  };
  static std::size_t receive(char* data, std::size_t size, std::size_t count, void* reply) noexcept;
  static int progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept;
  void prepare(const std::string& target, std::chrono::milliseconds limit, Reply& reply);

  std::unique_ptr<CURL, CloseHandle> handle_;
  std::string base_;
  std::string socket_;
  std::atomic<bool> stopped_{false};
};

}  // namespace mlq::engine
