// SPDX-License-Identifier: GPL-2.0-or-later
// Where the agents of other nodes connect to the head, and how each side shows the other that it belongs to
// the job.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tools/mlq/run/link.hpp"

namespace mlq::run {

class Gate {
 public:
  /// The join message of somebody who knows the secret.
  using Joined = std::function<void(std::unique_ptr<Link>, const Message& join)>;

  /// Listens on a port that the kernel picks. Throws cli::Error.
  Gate(Loop& loop, std::string secret, Joined joined);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  struct Visitor {
    std::unique_ptr<Link> link;
    std::string nonce;  ///< ours
    Loop::Timer deadline = 0;
  };
  static constexpr std::size_t kVisitorsMax = 64;  ///< of whom it is not known who they are
  void accept_one();
  void take(std::uint64_t id, const Message& message);
  void send_away(std::uint64_t id);

  Loop& loop_;
  std::string secret_;
  Joined joined_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Visitor> visitors_;
};

/// The other side: connects to HOST:PORT and shows that it knows the secret.
class Knock {
 public:
  using Welcome = std::function<void(std::unique_ptr<Link>)>;
  using Refused = std::function<void(const std::string& why)>;

  /// `join` goes to the head with the proof. One of the two is called, once; within ten seconds.
  Knock(Loop& loop, const std::string& host, const std::string& port, std::string secret, Message join,
        Welcome welcome, Refused refused);
  ~Knock();
  Knock(const Knock&) = delete;
  Knock& operator=(const Knock&) = delete;

 private:
  void take(const Message& message);
  void give_up(const std::string& why);

  Loop& loop_;
  std::string secret_, nonce_;
  Message join_;
  Welcome welcome_;
  Refused refused_;
  std::unique_ptr<Link> link_;
  Loop::Timer deadline_ = 0;
};

}  // namespace mlq::run
