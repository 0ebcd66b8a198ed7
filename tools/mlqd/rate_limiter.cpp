// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/rate_limiter.hpp"

#include <algorithm>

namespace mlq::mlqd {

RateLimiter::Bucket& RateLimiter::refill(const std::string& caller, double now) {
  if (buckets_.size() >= sweep_at_) forget_idle(now);
  Bucket& bucket = buckets_.try_emplace(caller, Bucket{burst_, now}).first->second;
  bucket.level = std::min(burst_, bucket.level + std::max(0.0, now - bucket.time) * rate_);
  bucket.time = now;
  return bucket;
}

/// A full bucket says nothing that a new one would not.
void RateLimiter::forget_idle(double now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    return entry.second.level + (now - entry.second.time) * rate_ >= burst_;
  });
  sweep_at_ = std::max<std::size_t>(1024, 2 * buckets_.size());
}

double RateLimiter::wait(const std::string& caller, double now) {
  const std::lock_guard lock(mutex_);
  const Bucket& bucket = refill(caller, now);
  return bucket.level > 0 ? 0 : (1 - bucket.level) / rate_;
}

void RateLimiter::spend(const std::string& caller, double cost, double now) {
  const std::lock_guard lock(mutex_);
  refill(caller, now).level -= cost;
}

std::size_t RateLimiter::size() {
  const std::lock_guard lock(mutex_);
  return buckets_.size();
}

}  // namespace mlq::mlqd
