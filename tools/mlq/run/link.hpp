// SPDX-License-Identifier: GPL-2.0-or-later
// One TCP connection between two agents: lines of bounded length, a ping every two seconds, closed when the
// other side is silent for ten.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tools/mlq/run/loop.hpp"
#include "tools/mlq/run/message.hpp"

namespace mlq::run {

class Link {
 public:
  using Take = std::function<void(const Message&)>;
  using Closed = std::function<void(const std::string& why)>;  ///< once; the link may be destroyed in it

  static constexpr double kPing = 2, kSilence = 10;  ///< seconds

  /// Takes the connected (or connecting) socket over. Lines are at most kHandshakeMax bytes until trust().
  Link(Loop& loop, int fd, Take take, Closed closed);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void listen(Take take, Closed closed);  ///< somebody else takes what comes from now on
  void trust();
  void send(const Message& message);
  bool busy() const { return output_.size() > kBusy; }
  void flush(Seconds limit);  ///< waits until all is sent, at most so long

 private:
  static constexpr std::size_t kBusy = std::size_t{1} << 20, kOutputMax = std::size_t{64} << 20;
  void watch();
  void ready(short events);
  bool read_some();
  bool write_some();
  void beat();
  void close_for(const std::string& why);

  Loop& loop_;
  int fd_;
  Take take_;
  Closed closed_;
  std::size_t line_max_ = kHandshakeMax;
  std::string input_, output_;
  Clock::time_point heard_ = Clock::now(), beat_at_ = heard_;
  Loop::Timer beat_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  ///< false once destroyed or closed
};

}  // namespace mlq::run
