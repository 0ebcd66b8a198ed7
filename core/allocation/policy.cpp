// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/policy.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/allocation/policies.hpp"

namespace mlq {

const Allocation& Policy::decide(const ClusterView& view) {
  requests_.clear();
  held_.clear();
  for (const JobView& job : view.jobs) {
    requests_.push_back(job.request);
    held_.push_back(job.held);
    // Whoever runs keeps its minimum before anybody starts; then the oldest first.
    requests_.back().rank = (job.held.by_pool.empty() ? 0 : 1e12) - job.arrival;
  }
  AllocatorOptions options;
  options.account_caps = view.account_caps;
  const Objective& objective = prepare(view, requests_, options);
  allocator_.run(view.pools, requests_, objective, options, allocation_);
  if (settles()) settle(view.pools, requests_, held_, objective, options_.settle, allocation_);
  return allocation_;
}

std::span<const std::string_view> policy_names() {
  static constexpr std::array<std::string_view, 8> names{"mlq",  "slaq", "maxmin", "fair",
                                                         "fifo", "las",  "srtf",   "oracle"};
  return names;
}

std::unique_ptr<Policy> make_policy(std::string_view name, const PolicyOptions& options) {
  if (name == "mlq") return std::make_unique<QualityPolicy>(options, QualityPolicy::Knows::reports);
  if (name == "oracle") return std::make_unique<QualityPolicy>(options, QualityPolicy::Knows::truth);
  if (name == "slaq") return std::make_unique<SlaqPolicy>(options);
  if (name == "maxmin") return std::make_unique<MaxMinPolicy>(options);
  if (name == "fair") return std::make_unique<FairPolicy>(options);
  if (name == "fifo") return std::make_unique<OrderPolicy>(options, OrderPolicy::By::arrival);
  if (name == "las") return std::make_unique<OrderPolicy>(options, OrderPolicy::By::attained);
  if (name == "srtf") return std::make_unique<OrderPolicy>(options, OrderPolicy::By::remaining);
  return nullptr;
}

}  // namespace mlq
