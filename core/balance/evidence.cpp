// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/evidence.hpp"

#include <algorithm>
#include <cmath>

namespace mlq::balance {
namespace {

constexpr double kFade = 0.97;   // of the gains on record, per iteration
constexpr double kMost = 0.3;    // gain that is enough whatever the noise: ranks of 1 and 2 save it in one
constexpr double kLeast = 0.05;  // gain that is asked for without noise
constexpr double kPerNoise = 8;  // gain asked for, per mean change of a speed
constexpr std::size_t kUnknown = 10;  // iterations in which the noise counts as unknown
constexpr double kHeaviest = 2;       // iterations that a long one can count for
constexpr double kDoubtFade = 0.99;
constexpr double kStepMemory = 0.05, kTypicalMemory = 0.1;
constexpr double kLargestStep = 0.25;  // larger ones are changes or outliers, not noise

}  // namespace

double Evidence::needed() const {
  return count_ < kUnknown ? kMost : std::clamp(kPerNoise * step_, kLeast, kMost);
}

/// Most that one iteration can prove. Each split was made before the iteration that judges it, so a lone
/// outlier proves nothing; while the noise is unknown two iterations have to agree on what an earlier one
/// said.
double Evidence::limit() const {
  if (trusted_ != kEqual) return kHeaviest;
  return count_ < kUnknown ? 0.52 * needed() : 1.2 * needed();
}

void Evidence::learn_noise(std::span<const double> speeds) {
  if (count_ > 0) {
    double sum = 0;
    for (std::size_t i = 0; i < speeds.size(); ++i)
      sum += std::min(kLargestStep, std::abs(speeds[i] / before_[i] - 1));
    const double weight = std::max(kStepMemory, 1.0 / static_cast<double>(count_));
    step_ += weight * (sum / static_cast<double>(speeds.size()) - step_);
  }
  before_.assign(speeds.begin(), speeds.end());
}

void Evidence::observe(const std::array<double, kRivals>& makespans, std::span<const double> speeds) {
  const double equal = makespans[kEqual];
  if (!(std::isfinite(equal) && equal > 0)) return;
  learn_noise(speeds);
  typical_ = count_ == 0 ? equal : typical_ + kTypicalMemory * (std::min(equal, 2 * typical_) - typical_);
  ++count_;
  // Who is trusted answers for the time that passed; in an outlier a chance lead of some samples proves
  // little.
  const double unit = trusted_ == kEqual ? std::max(typical_, equal) : typical_;
  for (const Rival rival : {kLast, kForeseen}) {
    const double gain = (equal - makespans[rival]) / unit;
    if (!std::isfinite(gain)) continue;
    if (rival == trusted_) paid_ += gain;
    // Not far below nothing: what was lost long ago must not delay the answer to a change.
    gains_[rival] = std::max(-needed() / 8, kFade * gains_[rival] + std::clamp(gain, -kHeaviest, limit()));
  }
  doubt_ *= kDoubtFade;
  if (trusted_ == kEqual)
    consider();
  else
    reconsider();
}

void Evidence::consider() {
  const double gain = std::max(gains_[kLast], gains_[kForeseen]);
  if (gain < (1 + doubt_) * needed()) return;
  // That the ranks differ is proven; a prediction tells noise from change better than the last speeds do.
  trusted_ = kForeseen;
  gains_[kForeseen] = gain;
  paid_ = 0;
}

void Evidence::reconsider() {
  if (gains_[trusted_] <= 0) {
    trusted_ = kEqual;
    if (paid_ < 0) doubt_ = 1;
    return;
  }
  const Rival other = trusted_ == kLast ? kForeseen : kLast;
  if (gains_[other] >= gains_[trusted_] + needed()) trusted_ = other;
}

}  // namespace mlq::balance
