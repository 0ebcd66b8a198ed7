// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/target_answers.hpp"

#include <algorithm>
#include <cmath>

namespace mlq::mlqd {
namespace {

constexpr double kPeriod = 15;  // seconds: every agent asks in it, however long it was told to pause
static_assert(kPeriod > TargetAnswers::kLongest * 1.2);

std::string key_of(const std::string& cluster, std::uint32_t job_id) {
  return cluster + " " + std::to_string(job_id);  // no cluster's name holds a blank
}

}  // namespace

void TargetAnswers::limit(double polls) {
  const std::lock_guard lock(mutex_);
  polls_ = polls;
}

/// Counts agents by periods, so that nothing has to be looked through.
void TargetAnswers::turn(double now) {
  const auto period = static_cast<std::int64_t>(std::floor(now / kPeriod));
  if (period == period_) return;
  asked_before_ = period == period_ + 1 ? asking_ : 0;
  asking_ = 0;
  period_ = period;
}

void TargetAnswers::count(Entry& entry, double now) {
  turn(now);
  if (entry.asked == period_) return;
  entry.asked = period_;
  ++asking_;
}

void TargetAnswers::make_room(double now) {
  std::erase_if(entries_, [now](const auto& entry) { return entry.second.until < now; });
  if (entries_.size() >= kMost) entries_.clear();
}

TargetAnswers::Asked TargetAnswers::ask(const std::string& cluster, std::uint32_t job_id, double now) {
  const std::string key = key_of(cluster, job_id);
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= kMost && !entries_.contains(key)) make_room(now);
  Entry& entry = entries_[key];
  count(entry, now);
  if (entry.text && now < entry.until) return {entry.text, 0};
  // a number of its own after each change: who read the store before it cannot keep what he read
  if (entry.ticket == 0 || entry.text) entry.ticket = ++tickets_;
  entry.text = nullptr;
  entry.until = now + kKept;
  return {nullptr, entry.ticket};
}

void TargetAnswers::keep(const std::string& cluster, std::uint32_t job_id, std::uint64_t ticket, Text text,
                         double now) {
  if (!text || text->size() > kLongestText) return;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key_of(cluster, job_id));
  if (found == entries_.end() || found->second.ticket != ticket) return;
  found->second.text = std::move(text);
  found->second.until = now + kKept;
}

void TargetAnswers::changed(const std::string& cluster, std::uint32_t job_id) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key_of(cluster, job_id));
  if (found == entries_.end()) return;
  found->second.text = nullptr;
  found->second.ticket = 0;
}

std::size_t TargetAnswers::agents(double now) {
  const std::lock_guard lock(mutex_);
  turn(now);
  return std::max(asking_, asked_before_);
}

std::size_t TargetAnswers::size() {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

double TargetAnswers::pause(double now) {
  const auto agents = static_cast<double>(this->agents(now));
  const std::lock_guard lock(mutex_);
  return std::clamp(agents / polls_, 1.0, kLongest);
}

}  // namespace mlq::mlqd
