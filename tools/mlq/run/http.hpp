// SPDX-License-Identifier: GPL-2.0-or-later
// Requests to mlqd in the agent's loop: nothing here waits.
#pragma once

#include <curl/curl.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tools/mlq/run/loop.hpp"

namespace mlq::run {

class Http {
 public:
  /// status 0 with why in body when there was no answer.
  using Done = std::function<void(long status, const std::string& body)>;

  /// url: unix:/PATH, http://… or https://…; token: of the job, "" = none.
  Http(Loop& loop, std::string url, const std::string& token);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  /// POST when there is a body. `done` comes later, once; never after this object is gone.
  void ask(const std::string& path, const std::string& body, Seconds limit, Done done);

 private:
  struct Transfer;
  static int on_socket(CURL* easy, curl_socket_t fd, int what, void* self, void* socket);
  static int on_timer(CURLM* multi, long timeout_ms, void* self);
  void act(curl_socket_t fd, int events);
  void collect();

  Loop& loop_;
  std::string url_;
  CURLM* multi_;
  curl_slist* headers_ = nullptr;
  Loop::Timer timer_ = 0;
  std::map<CURL*, std::unique_ptr<Transfer>> transfers_;
};

}  // namespace mlq::run
