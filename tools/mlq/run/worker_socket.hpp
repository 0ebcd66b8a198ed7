// SPDX-License-Identifier: GPL-2.0-or-later
// MLQ_AGENT: where the workers of a node, in which containers they may be, talk with its agent about
// re-forming.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tools/mlq/run/loop.hpp"
#include "tools/mlq/run/message.hpp"

namespace mlq::run {

/// A socket in Linux's abstract namespace: no file to clean up, reachable from containers. Only this user's
/// processes are listened to.
class WorkerSocket {
 public:
  using Take = std::function<void(const Message&)>;  ///< local_rank says whose it is

  WorkerSocket(Loop& loop, Take take);
  ~WorkerSocket();
  WorkerSocket(const WorkerSocket&) = delete;
  WorkerSocket& operator=(const WorkerSocket&) = delete;

  /// For MLQ_AGENT: "@name"; "" when there is none.
  const std::string& name() const { return name_; }
  void send(std::int64_t local_rank, const Message& message);
  void forget_all();

 private:
  struct Peer {
    std::int64_t local_rank = -1;  ///< -1: has not said attached
    std::string input;
  };
  void accept_one();
  void read_from(int fd);
  void drop(int fd);

  Loop& loop_;
  Take take_;
  int listener_ = -1;
  std::string name_;
  std::map<int, Peer> peers_;
};

}  // namespace mlq::run
