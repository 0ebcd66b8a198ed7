// SPDX-License-Identifier: GPL-2.0-or-later
// The workers of one node: started, listened to, signalled and stopped as the head says. The head's own node
// and those behind a link are the same.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/mlq/run/environment.hpp"
#include "tools/mlq/run/message.hpp"
#include "tools/mlq/run/output.hpp"
#include "tools/mlq/run/processes.hpp"
#include "tools/mlq/run/worker_socket.hpp"

namespace mlq::run {

class Node {
 public:
  using Tell = std::function<void(const Message&)>;  ///< to the head
  using Busy = std::function<bool()>;                ///< no more output just now

  Node(Loop& loop, Processes& processes, Tell tell, Busy busy);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// command, environment (base_environment()), directory, flag = label, seconds = grace; cores = of this
  /// node.
  void prepare(Message welcome, std::int64_t cores, bool inherit_output);
  /// start, reform, signal, stop. Others are nothing to a node.
  void handle(const Message& order);

  bool idle() const { return alive_ == 0; }
  bool started() const { return !workers_.empty(); }

 private:
  struct Stream {
    int fd = -1;
    LineBuffer lines{""};
  };
  struct Worker {
    pid_t pid = -1;
    std::int64_t rank = 0;
    bool ended = false;
    Stream out, err;
  };
  void start(const Message& order);
  void start_worker(const Message& order, std::int64_t local);
  std::string prefix_of(std::int64_t rank) const;
  void listen(Worker& worker, Stream& stream, int number);
  void read_output(Worker& worker, Stream& stream, int number);
  void finish_output(Worker& worker);
  void send_output(const Worker& worker, int number, const std::string& bytes);
  void ended(std::size_t local, std::int64_t generation, int wait_status);
  void reform(const Message& order);
  void stop(const Message& order);
  void signal_all(int number);
  void from_worker(const Message& message);

  Loop& loop_;
  Processes& processes_;
  Tell tell_;
  Busy busy_;
  WorkerSocket socket_;
  Message welcome_;
  std::int64_t cores_ = 1;
  bool inherit_output_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::size_t alive_ = 0, formed_ = 0, attached_ = 0, ready_ = 0;
  std::int64_t generation_ = 0, started_ = 0;  ///< of the last order; of the last start
  double formed_seconds_ = 0;                  ///< the longest that one of them stood still
  bool stopping_ = false;
  Loop::Timer kill_timer_ = 0;
};

}  // namespace mlq::run
