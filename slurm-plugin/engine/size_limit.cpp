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

/// No end of another job makes room below it.
bool is_of_the_job_alone(std::string_view limit) {
  return is_least(limit) || holds(limit, "PerJob") || holds(limit, "PerNode") ||
         limit.starts_with("Partition");
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

std::uint32_t SizeLimit::instead(std::string_view limit, std::uint32_t asked, std::uint32_t min,
                                 std::uint32_t max, double unchanged_s) {
  const bool least = is_least(limit);
  std::uint32_t units = 0;
  if (own_ != 0 && (least ? own_ > asked : own_ < asked))
    units = std::clamp(own_, min, max);
  else if (is_of_the_job_alone(limit) && unchanged_s >= settle_s)
    units = least ? std::min(max, asked > max / 2 ? max : 2 * asked) : std::max(min, asked / 2);
  if (units == 0 || (least ? units <= asked : units >= asked)) return 0;
  (least ? least_ : most_) = units;
  name_ = limit;
  return units;
}

void SizeLimit::narrow(std::uint32_t& min, std::uint32_t& max) const {
  min = std::clamp(least_, min, max);
  max = std::clamp(most_, min, max);
}

std::string SizeLimit::text() const {
  if (name_.empty()) return {};
  return std::string("; with ") + (is_least(name_) ? "fewer" : "more") + " it waited for " + name_;
}

}  // namespace mlq::engine
