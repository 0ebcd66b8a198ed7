// SPDX-License-Identifier: GPL-2.0-or-later
// Token buckets by name: a caller that is too fast waits, the others notice nothing.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace mlq::mlqd {

/// Any thread. No clock: `now` is in seconds of a monotonic clock.
class RateLimiter {
 public:
  /// rate: what a caller may spend a second; burst: what it may save up. Both > 0.
  RateLimiter(double rate, double burst) : rate_(rate), burst_(burst) {}

  /// Seconds until the caller may go on, 0 = now. Spends nothing.
  double wait(const std::string& caller, double now);

  /// Spends; may go into debt, so that one large request passes and the next ones wait for it.
  void spend(const std::string& caller, double cost, double now);

  std::size_t size();

 private:
  struct Bucket {
    double level;
    double time;
  };
  Bucket& refill(const std::string& caller, double now);
  void forget_idle(double now);

  const double rate_;
  const double burst_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
  std::size_t sweep_at_ = 1024;
};

}  // namespace mlq::mlqd
