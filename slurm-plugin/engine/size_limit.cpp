// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/size_limit.hpp"

#include <algorithm>

namespace mlq::engine {
namespace {

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_least(std::string_view limit) {
  return limit.starts_with("QOSMin");
}

/// No end of another job lifts it, and the size decides. One of several partitions may have another limit.
bool is_of_the_size_alone(std::string_view limit, const SizeRange& range, const mlq_size_request_t& size) {
  if (size.several_partitions || !(is_least(limit) || holds(limit, "PerJob"))) return false;
  if (holds(limit, "Node")) return range.nodes;
  if (holds(limit, "Mem")) return range.nodes || !size.memory_per_node;
  if (holds(limit, "GRES")) return range.gpus > 0;
  return holds(limit, "Cpu") || holds(limit, "CPU") || holds(limit, "Billing");
}

}  // namespace

void SizeLimit::put(std::uint32_t asked, std::uint32_t units) {
  if (own_ == 0) own_ = asked;
  put_ = units;
  before_ = asked;
}

void SizeLimit::see(std::uint32_t asked) {
  if (own_ != 0 && asked != put_ && asked != before_ && asked != own_) *this = SizeLimit();
}

std::uint32_t SizeLimit::instead(std::string_view limit, const SizeRange& range,
                                 const mlq_size_request_t& size, double unchanged_s, double now) {
  const std::uint32_t asked = range.asked;
  const bool either = limit.starts_with("Partition");  // it says the same of too few nodes and of too many
  const bool sized = own(asked) != 0;
  bool up = either ? own_ > asked : is_least(limit);
  waited_at_ = now;
  std::uint32_t units = asked;
  if (sized && up == (own_ > asked))
    units = own_;
  else if (is_of_the_size_alone(limit, range, size) && unchanged_s >= settle_s)
    units = up ? asked + std::min(asked, UINT32_MAX - asked) : asked / 2;
  units = std::clamp(units, range.min, range.max);
  if (up ? units <= asked : units >= asked) return 0;
  (up ? least_ : most_) = units;
  name_ = limit;
  return units;
}

void SizeLimit::rest(double now) {
  if (name_.empty() || now - waited_at_ < keep_) return;
  least_ = 0;
  most_ = UINT32_MAX;
  name_.clear();
  keep_ *= 2;
}

void SizeLimit::narrow(std::uint32_t& min, std::uint32_t& max) const {
  min = std::clamp(least_, min, max);
  max = std::clamp(most_, min, max);
}

std::string SizeLimit::text() const {
  if (name_.empty()) return {};
  return std::string("; with ") + (least_ > 0 ? "fewer" : "more") + " it waited for " + name_;
}

}  // namespace mlq::engine
