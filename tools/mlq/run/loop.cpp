// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/loop.hpp"

#include <poll.h>

#include <algorithm>
#include <vector>

namespace mlq::run {

void Loop::watch(int fd, short events, Ready ready) {
  watches_[fd] = {events, ++serial_, std::move(ready)};
}

void Loop::unwatch(int fd) {
  watches_.erase(fd);
}

Loop::Timer Loop::after(Seconds delay, Work work) {
  const auto due = Clock::now() + std::chrono::duration_cast<Clock::duration>(delay);
  const Timer timer = ++serial_;
  timers_.emplace(std::pair(due, timer), std::move(work));
  return timer;
}

void Loop::cancel(Timer& timer) {
  const auto found = std::find_if(timers_.begin(), timers_.end(),
                                  [&](const auto& entry) { return entry.first.second == timer; });
  if (timer && found != timers_.end()) timers_.erase(found);
  timer = 0;
}

void Loop::run_deferred() {
  while (running_ && !deferred_.empty()) {
    const Work work = std::move(deferred_.front());
    deferred_.pop_front();
    work();
  }
}

void Loop::run_timers() {
  const auto now = Clock::now();
  while (running_ && !timers_.empty() && timers_.begin()->first.first <= now) {
    const Work work = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    work();
    run_deferred();
  }
}

int Loop::timeout_ms() const {
  constexpr std::int64_t kLongest = 60000;
  if (timers_.empty()) return static_cast<int>(kLongest);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kLongest));
}

void Loop::run() {
  running_ = true;
  std::vector<pollfd> files;
  std::vector<std::uint64_t> serials;
  for (;;) {
    run_deferred();
    run_timers();
    if (!running_) return;
    files.clear();
    serials.clear();
    files.reserve(watches_.size());
    serials.reserve(watches_.size());
    for (const auto& [fd, watch] : watches_) {
      files.push_back({fd, watch.events, 0});
      serials.push_back(watch.serial);
    }
    if (poll(files.data(), files.size(), timeout_ms()) <= 0) continue;
    for (std::size_t i = 0; running_ && i < files.size(); ++i) {
      const auto found = watches_.find(files[i].fd);
      if (files[i].revents == 0 || found == watches_.end() || found->second.serial != serials[i]) continue;
      const Ready ready = found->second.ready;  // a copy: it may remove itself
      ready(files[i].revents);
      run_deferred();
    }
  }
}

}  // namespace mlq::run
