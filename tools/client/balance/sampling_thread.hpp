// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tools/client/balance/node_sampler.hpp"
#include "tools/client/balance/poster.hpp"

namespace mlq::balance {

/// Samples the node beside the training, and sends what there is to send: one thread for all balancers of a
/// process, ended with the last one. It takes at most a thousandth of a core, by sampling the less often the
/// longer a sample takes. It handles no signal. In a forked child the thread is gone: what the child
/// inherited keeps the last state and may be destroyed, and a balancer made there gets a thread of its own.
class SamplingThread {
 public:
  static constexpr std::chrono::milliseconds kInterval{40};
  static constexpr std::chrono::microseconds kInline{
      100};  ///< most that a reading beside the thread may take

  /// The thread of this process, started when there is none. The calling thread's waiting for cores is what
  /// counts as stall. Null when no thread can be had.
  static std::shared_ptr<SamplingThread> of_this_process();

  ~SamplingThread();
  SamplingThread(const SamplingThread&) = delete;
  SamplingThread& operator=(const SamplingThread&) = delete;

  /// Without waiting for the thread; where reading is cheap (kInline), brought up to now.
  NodeState newest();
  /// Has a message sent to mlqd, without waiting.
  void post(std::string message) { poster_.post(std::move(message)); }

 private:
  SamplingThread();
  bool start();
  void run();
  void sample();  ///< with guard_ held

  std::mutex guard_;  ///< of the sampler; nobody waits for it but the thread
  NodeSampler sampler_;
  double cost_ = 0;  ///< of a reading, ms of CPU time, a moving average
  Poster poster_;
  const pid_t process_;
  pthread_t thread_{};
  bool running_ = false;
  int stop_ = -1;  ///< event descriptor; a condition variable cannot be destroyed in a forked child
  std::atomic<double> cpu_{1}, memory_{0}, stall_{0};
};

}  // namespace mlq::balance
