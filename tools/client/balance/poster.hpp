// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <string>

using CURL = void;
using CURLM = void;
struct curl_slist;

namespace mlq::balance {

/// Where a job's speeds go, as its environment says.
struct PostTarget {
  std::string url;          ///< of POST /v1/speeds; "" = nowhere
  std::string socket_path;  ///< "" = TCP
  std::string authorization, ca_file;
};

/// From MLQ_URL, MLQ_TOKEN and MLQ_CA_FILE.
PostTarget post_target();

/// Sends messages to mlqd beside whatever its thread does. Nothing waits for it: the newest message takes the
/// place of one that was not sent, and one that fails is given up.
class Poster {
 public:
  Poster() = default;
  ~Poster();
  Poster(const Poster&) = delete;
  Poster& operator=(const Poster&) = delete;

  /// Any thread, without waiting.
  void post(std::string message);

  // Its own thread:
  /// Goes on with what is under way; true while there is anything.
  bool work();
  /// Until `stop` can be read, something arrives, or the time is over. True when stop can be read.
  bool wait(int stop, int milliseconds);
  void close();

 private:
  bool set_up();
  void begin(const std::string& message);

  std::atomic<std::string*> mail_{nullptr};
  PostTarget target_;
  std::string body_;
  CURLM* multi_ = nullptr;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  bool tried_ = false, sending_ = false;
};

}  // namespace mlq::balance
