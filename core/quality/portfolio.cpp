// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/portfolio.hpp"

#include <algorithm>
#include <cmath>

namespace mlq {
namespace {

// Chosen on halves of a collection of 117 real curves, judged on the other halves (doc/prediction.md).
constexpr double kSharpness = 4;
constexpr double kForgiveness = 0.3;
constexpr double kShort = 2.4;
constexpr double kTrimTests = 1;
constexpr double kNoise = 2;
constexpr double kFloorShare = 0.004;
constexpr double kForget = 0.9;
constexpr double kDamp = 100;
constexpr double kPriorTests = 2;
constexpr double kPriorMedian = 0.8;
constexpr double kPriorMean = 1.8;
constexpr double kPriorLine = 1.45;
constexpr double kPriorLog = 2.7;
constexpr double kPriorSub = 0.42, kPriorExp = 0.35, kPriorHyp = 0.42, kPriorPow = 0.8;
constexpr double kTrim = 0.3;
constexpr double kReach = 10;
constexpr double kFamilyTests = 3;
constexpr double kTolerance = 0.01;
constexpr double kIterations = 10;
constexpr double kDecaySub = 0.86, kDecayExp = 0.7, kDecayHyp = 0.54, kDecayPow = 0.3;
constexpr double kLenSub = 40, kLenExp = 15, kLenHyp = 16, kLenPow = 10;

double damped(double ahead) {
  return kDamp * -std::expm1(-ahead / kDamp);
}

double median_near(const ScaledWindow& s, std::size_t from, std::size_t to) {
  std::array<double, 16> v{};
  const std::size_t n = std::min(to - from, v.size());
  std::copy_n(s.y.begin() + static_cast<std::ptrdiff_t>(to - n), n, v.begin());
  return median_of({v.data(), n});
}

double prior(Member m) {
  const double families[] = {kPriorSub, kPriorExp, kPriorHyp, kPriorPow};
  switch (m.kind) {
    case Member::Kind::median:
      return kPriorMedian;
    case Member::Kind::mean:
      return kPriorMean;
    case Member::Kind::line:
      return kPriorLine;
    case Member::Kind::log_line:
      return kPriorLog;
    case Member::Kind::family:
      return families[m.which];
  }
  return 1;
}

}  // namespace

Member Portfolio::member(std::size_t i) {
  constexpr std::size_t m = kMedians.size(), b = TrendBank::kMemories;
  if (i < m) return {Member::Kind::median, static_cast<std::uint8_t>(i)};
  if (i < m + b) return {Member::Kind::mean, static_cast<std::uint8_t>(i - m)};
  if (i < m + 2 * b) return {Member::Kind::line, static_cast<std::uint8_t>(i - m - b)};
  if (i < m + 3 * b) return {Member::Kind::log_line, static_cast<std::uint8_t>(i - m - 2 * b)};
  return {Member::Kind::family, static_cast<std::uint8_t>(i - m - 3 * b)};
}

double Portfolio::Opinion::level(std::size_t i, const ScaledWindow& scaled) const {
  const Member m = member(i);
  switch (m.kind) {
    case Member::Kind::median:
      return medians[m.which];
    case Member::Kind::mean:
      return trends.mean[m.which];
    case Member::Kind::line:
      return trends.line_level[m.which];
    case Member::Kind::log_line:
      return trends.log_level[m.which];
    case Member::Kind::family:
      return fits[m.which].usable ? value_at(kFamilies[m.which], scaled.frame, fits[m.which], k) : medians[0];
  }
  return 0;
}

double Portfolio::Opinion::change(std::size_t i, const ScaledWindow& scaled, double ahead) const {
  const double raw = unbounded_change(i, scaled, ahead);
  return raw < 0 ? std::min(0.0, std::max(raw, scaled.lowest - level(i, scaled))) : raw;
}

double Portfolio::Opinion::unbounded_change(std::size_t i, const ScaledWindow& scaled, double ahead) const {
  const Member m = member(i);
  switch (m.kind) {
    case Member::Kind::median:
    case Member::Kind::mean:
      return 0;
    case Member::Kind::line:
      return trends.line_slope[m.which] * damped(ahead);
    case Member::Kind::log_line:
      return trends.log_slope[m.which] * std::log1p(ahead / k);
    case Member::Kind::family: {
      const FamilyFit& fit = fits[m.which];
      if (!fit.usable) return 0;
      const Family f = kFamilies[m.which];
      return value_at(f, scaled.frame, fit, k + ahead) - value_at(f, scaled.frame, fit, k);
    }
  }
  return 0;
}

Portfolio::Portfolio(const ScaledWindow& scaled, Memory& memory) : scaled_(scaled) {
  const std::size_t n = scaled.count;
  reach_ = std::clamp<std::size_t>((n - 1) / 3, 1, static_cast<std::size_t>(kReach));
  tested_horizon_ = static_cast<double>(reach_);
  const std::size_t step = std::max<std::size_t>(1, reach_ / 2);
  ends_[0] = n - 1;
  for (std::size_t b = 0; b < kTests; ++b) {
    if (n - 1 < reach_ + b * step + 4) break;
    ends_[++tests_] = n - 1 - reach_ - b * step;
  }
  form_opinions(memory);
  weigh();
}

void Portfolio::form_opinions(Memory& memory) {
  const ScaledWindow& s = scaled_;
  TrendBank bank;
  std::size_t next = tests_ + 1;  // opinions are formed from the oldest origin on
  for (std::size_t i = 0; i < s.count && next > 0; ++i) {
    bank.add(s.k[i], s.y[i]);
    if (i != ends_[next - 1]) continue;
    Opinion& o = opinions_[--next];
    o.k = s.k[i];
    o.trends = bank.trends();
    for (std::size_t j = 0; j < kMedians.size(); ++j)
      o.medians[j] = median_near(s, i + 1 - std::min(i + 1, kMedians[j]), i + 1);
  }
  SolveOptions options;
  options.max_iterations = static_cast<int>(kIterations);
  options.relative_decrease = kTolerance;
  const double decay[] = {kDecaySub, kDecayExp, kDecayHyp, kDecayPow};
  const double length[] = {kLenSub, kLenExp, kLenHyp, kLenPow};
  const std::size_t tested = std::min(tests_, static_cast<std::size_t>(kFamilyTests));
  for (std::size_t f = 0; f < kFamilies.size(); ++f) {
    const FamilyFit* start = memory.frame == s.frame ? &memory.fits[f] : nullptr;
    for (std::size_t b = 0; b <= tested; ++b) {
      const FitRange range{ends_[b] + 1, static_cast<std::size_t>(length[f]), decay[f]};
      opinions_[b].fits[f] = fit_family(kFamilies[f], s, range, start, options);
      start = &opinions_[b].fits[f];
    }
    memory.fits[f] = opinions_[0].fits[f];
  }
  memory.frame = s.frame;
}

void Portfolio::weigh() {
  const ScaledWindow& s = scaled_;
  std::array<double, kMembers> errors{};
  std::array<double, kMembers> counts{};
  std::array<double, kTests> truth{}, ahead{};
  double weight = 1;
  for (std::size_t b = 0; b < tests_; ++b, weight *= kForget) {
    const std::size_t at = ends_[b + 1], then = at + reach_;
    truth[b] = median_near(s, then - 2, std::min(then + 3, s.count));
    ahead[b] = s.k[then] - s.k[at];
    for (std::size_t i = 0; i < kMembers; ++i) {
      if (member(i).kind == Member::Kind::family && b >= kFamilyTests) continue;
      const Opinion& o = opinions_[b + 1];
      errors[i] += weight * std::abs(o.level(i, scaled_) + o.change(i, scaled_, ahead[b]) - truth[b]);
      counts[i] += weight;
    }
  }
  std::array<double, kMembers> mean{};
  for (std::size_t i = 0; i < kMembers; ++i) mean[i] = counts[i] > 0 ? errors[i] / counts[i] : 1;
  std::array<double, kMembers> sorted = mean;
  const double usual = std::max(median_of(sorted), 1e-12);
  const double noise = noise_of({s.y.data(), s.count});
  const double forgiven = kForgiveness * std::min(usual, kNoise * noise) + kFloorShare * usual;
  const double telling =
      std::pow(tested_horizon_ / kReach, kShort);  // short back-tests say little of ten points ahead
  for (double& count : counts) count *= telling;
  double total = 0;
  for (std::size_t i = 0; i < kMembers; ++i) {
    const double expected = std::exp((counts[i] * std::log(mean[i] + forgiven) +
                                      kPriorTests * std::log(prior(member(i)) * usual + forgiven)) /
                                     (counts[i] + kPriorTests));
    weights_[i] = std::pow(usual / expected, kSharpness);
    if (member(i).kind == Member::Kind::family && !opinions_[0].fits[member(i).which].usable) weights_[i] = 0;
    total += weights_[i];
  }
  // only the middle of the opinions counts: trimmed by weight at both ends
  const double horizon = 10;
  std::array<std::size_t, kMembers> order{};
  std::array<double, kMembers> says{};
  for (std::size_t i = 0; i < kMembers; ++i) {
    order[i] = i;
    says[i] = opinions_[0].level(i, scaled_) + opinions_[0].change(i, scaled_, horizon);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return says[a] < says[b]; });
  const double trim = kTrim * counts[0] / (counts[0] + kTrimTests);
  double below = 0, kept = 0;
  for (const std::size_t i : order) {
    const double from = std::max(below, trim * total), to = std::min(below + weights_[i], (1 - trim) * total);
    below += weights_[i];
    weights_[i] = std::max(0.0, to - from);
    kept += weights_[i];
  }
  for (double& w : weights_) w /= kept;
  error_ = 0;
  double seen = 0;
  weight = 1;
  for (std::size_t b = 0; b < tests_; ++b, weight *= kForget) {
    error_ += weight * std::abs(foretold(opinions_[b + 1], ahead[b]) - truth[b]);
    seen += weight;
  }
  if (seen > 0) error_ /= seen;
}

// The blend as it would have been at an earlier origin with the weights of now.
double Portfolio::foretold(const Opinion& from, double ahead) const {
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < kMembers; ++i) {
    const Member m = member(i);
    if (weights_[i] <= 0 || (m.kind == Member::Kind::family && !from.fits[m.which].usable)) continue;
    sum += weights_[i] * (from.level(i, scaled_) + from.change(i, scaled_, ahead));
    weight += weights_[i];
  }
  return weight > 0 ? sum / weight : from.medians[0];
}

double Portfolio::level() const {
  double sum = 0;
  for (std::size_t i = 0; i < kMembers; ++i)
    if (weights_[i] > 0) sum += weights_[i] * opinions_[0].level(i, scaled_);
  return sum;
}

double Portfolio::change(double ahead) const {
  double sum = 0;
  for (std::size_t i = 0; i < kMembers; ++i)
    if (weights_[i] > 0) sum += weights_[i] * opinions_[0].change(i, scaled_, ahead);
  return sum;
}

const char* Portfolio::strongest() const {
  std::array<double, 3 + kFamilies.size()> shares{};
  for (std::size_t i = 0; i < kMembers; ++i) {
    const Member m = member(i);
    switch (m.kind) {
      case Member::Kind::median:
      case Member::Kind::mean:
        shares[0] += weights_[i];
        break;
      case Member::Kind::line:
        shares[1] += weights_[i];
        break;
      case Member::Kind::log_line:
        shares[2] += weights_[i];
        break;
      case Member::Kind::family:
        shares[3 + m.which] += weights_[i];
        break;
    }
  }
  const auto best = static_cast<std::size_t>(std::max_element(shares.begin(), shares.end()) - shares.begin());
  constexpr const char* kNames[] = {"no change", "trend", "log trend"};
  return best < 3 ? kNames[best] : name_of(kFamilies[best - 3]);
}

}  // namespace mlq
