// SPDX-License-Identifier: GPL-2.0-or-later
// One thread, one poll(): descriptors, timers and work for later. Callbacks may add and remove any of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

namespace mlq::run {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

class Loop {
 public:
  using Ready = std::function<void(short events)>;  ///< what poll() said
  using Work = std::function<void()>;
  using Timer = std::uint64_t;  ///< 0 = none

  /// Replaces what watched the descriptor before. The caller keeps the descriptor open until unwatch().
  void watch(int fd, short events, Ready ready);
  void unwatch(int fd);
  Timer after(Seconds delay, Work work);
  /// Forgets the timer and sets it to 0; nothing happens when it has fired.
  void cancel(Timer& timer);
  /// Runs once the callback under way has returned.
  void defer(Work work) { deferred_.push_back(std::move(work)); }

  void run();  ///< until quit()
  void quit() { running_ = false; }

 private:
  struct Watch {
    short events;
    std::uint64_t serial;  ///< tells a descriptor from a later one of the same number
    Ready ready;
  };
  void run_deferred();
  void run_timers();
  int timeout_ms() const;

  std::map<int, Watch> watches_;
  std::map<std::pair<Clock::time_point, Timer>, Work> timers_;
  std::deque<Work> deferred_;
  std::uint64_t serial_ = 0;
  bool running_ = false;
};

}  // namespace mlq::run
