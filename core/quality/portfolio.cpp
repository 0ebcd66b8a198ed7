// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/portfolio.hpp"

#include <algorithm>
#include <cmath>

namespace mlq {
namespace {

constexpr double kReach = 10;  // points ahead, of the back-tests
constexpr std::size_t kFamilyTests = 3;
// A prediction needs no better fit: it is the blend that errs.
constexpr SolveOptions kRough{5, 1e-2, 1e-3};

// A straight trend loses most of its slope after `points`.
double damped(double ahead, double points) {
  return points * -std::expm1(-ahead / points);
}

double median_near(const ScaledWindow& s, std::size_t from, std::size_t to) {
  std::array<double, 16> v{};
  const std::size_t n = std::min(to - from, v.size());
  std::copy_n(s.y.begin() + static_cast<std::ptrdiff_t>(to - n), n, v.begin());
  return median_of({v.data(), n});
}

double prior(Member m, const Tuning& tuning) {
  switch (m.kind) {
    case Member::Kind::median:
      return tuning.prior_median;
    case Member::Kind::mean:
      return tuning.prior_mean;
    case Member::Kind::line:
      return tuning.prior_line;
    case Member::Kind::log_line:
      return tuning.prior_log;
    case Member::Kind::family:
      return tuning.families[m.which].prior;
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

void Portfolio::Opinion::set_levels(const Frame& frame) {
  for (std::size_t i = 0; i < kMembers; ++i) {
    const Member m = member(i);
    switch (m.kind) {
      case Member::Kind::median:
        levels[i] = medians[m.which];
        break;
      case Member::Kind::mean:
        levels[i] = trends.mean[m.which];
        break;
      case Member::Kind::line:
        levels[i] = trends.line_level[m.which];
        break;
      case Member::Kind::log_line:
        levels[i] = trends.log_level[m.which];
        break;
      case Member::Kind::family:
        levels[i] = fits[m.which].usable ? value_at(kFamilies[m.which], frame, fits[m.which], k) : medians[0];
        break;
    }
  }
}

Portfolio::Ahead::Ahead(double points, double k, double damp)
    : points(points), straight(damped(points, damp)), logarithmic(std::log1p(points / k)) {}

double Portfolio::Opinion::change(std::size_t i, const ScaledWindow& scaled, const Ahead& ahead) const {
  const Member m = member(i);
  double raw = 0;
  switch (m.kind) {
    case Member::Kind::median:
    case Member::Kind::mean:
      return 0;
    case Member::Kind::line:
      raw = trends.line_slope[m.which] * ahead.straight;
      break;
    case Member::Kind::log_line:
      raw = trends.log_slope[m.which] * ahead.logarithmic;
      break;
    case Member::Kind::family:
      if (!fits[m.which].usable) return 0;
      raw = value_at(kFamilies[m.which], scaled.frame, fits[m.which], k + ahead.points) - levels[i];
      break;
  }
  return raw < 0 ? std::min(0.0, std::max(raw, scaled.lowest - levels[i])) : raw;
}

Portfolio::Portfolio(const ScaledWindow& scaled, Memory& memory, const Tuning& tuning)
    : scaled_(scaled), tuning_(tuning) {
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
    bank.add(s.k[i], s.log_k[i], s.y[i]);
    if (i != ends_[next - 1]) continue;
    Opinion& o = opinions_[--next];
    o.k = s.k[i];
    o.trends = bank.trends();
    for (std::size_t j = 0; j < kMedians.size(); ++j)
      o.medians[j] = median_near(s, i + 1 - std::min(i + 1, kMedians[j]), i + 1);
  }
  const std::size_t tested = std::min(tests_, kFamilyTests);
  for (std::size_t f = 0; f < kFamilies.size(); ++f) {
    const FamilyFit* start = memory.frame == s.frame ? &memory.fits[f] : nullptr;
    for (std::size_t b = 0; b <= tested; ++b) {
      const FitRange range{ends_[b] + 1, tuning_.families[f].length, tuning_.families[f].decay};
      opinions_[b].fits[f] = fit_family(kFamilies[f], s, range, start, kRough);
      start = &opinions_[b].fits[f];
    }
    memory.fits[f] = opinions_[0].fits[f];
  }
  memory.frame = s.frame;
  for (std::size_t b = 0; b <= tests_; ++b) opinions_[b].set_levels(s.frame);
}

void Portfolio::weigh() {
  std::array<double, kTests> truth{}, ahead{};
  for (std::size_t b = 0; b < tests_; ++b) {
    const std::size_t then = ends_[b + 1] + reach_;
    truth[b] = median_near(scaled_, then - 2, std::min(then + 3, scaled_.count));
    ahead[b] = scaled_.k[then] - scaled_.k[ends_[b + 1]];
  }
  std::array<double, kMembers> errors{}, counts{};
  double weight = 1;
  for (std::size_t b = 0; b < tests_; ++b, weight *= tuning_.forget) {
    const Opinion& o = opinions_[b + 1];
    const Ahead then(ahead[b], o.k, tuning_.damp);
    for (std::size_t i = 0; i < kMembers; ++i) {
      if (member(i).kind == Member::Kind::family && b >= kFamilyTests) continue;
      errors[i] += weight * std::abs(o.levels[i] + o.change(i, scaled_, then) - truth[b]);
      counts[i] += weight;
    }
  }
  for (std::size_t i = 0; i < kMembers; ++i) errors[i] = counts[i] > 0 ? errors[i] / counts[i] : 1;
  trust(errors, counts);
  trim(counts[0]);
  double seen = 0;
  weight = 1;
  for (std::size_t b = 0; b < tests_; ++b, weight *= tuning_.forget) {
    error_ += weight * std::abs(foretold(opinions_[b + 1], ahead[b]) - truth[b]);
    seen += weight;
  }
  if (seen > 0) error_ /= seen;
}

// Weights from the mean errors of the back-tests and the prior, mixed by their counts on the scale of
// logarithms. Short back-tests say little of ten points ahead: `counts` is lowered for them.
void Portfolio::trust(const std::array<double, kMembers>& errors, std::array<double, kMembers>& counts) {
  std::array<double, kMembers> sorted = errors;
  const double usual = std::max(median_of(sorted), 1e-12);
  const double noise = noise_of({scaled_.y.data(), scaled_.count});
  const double forgiven =
      tuning_.forgiveness * std::min(usual, tuning_.noise * noise) + tuning_.floor_share * usual;
  const double telling = std::pow(tested_horizon_ / kReach, tuning_.shortness);
  for (std::size_t i = 0; i < kMembers; ++i) {
    counts[i] *= telling;
    const double expected = (counts[i] * std::log((errors[i] + forgiven) / usual) +
                             tuning_.prior_tests * std::log(prior(member(i), tuning_) + forgiven / usual)) /
                            (counts[i] + tuning_.prior_tests);
    weights_[i] = std::exp(-tuning_.sharpness * expected);
    if (member(i).kind == Member::Kind::family && !opinions_[0].fits[member(i).which].usable) weights_[i] = 0;
  }
}

// Only the middle of the opinions counts; without back-tests (`tests` = 0) all of them do.
void Portfolio::trim(double tests) {
  std::array<std::size_t, kMembers> order{};
  std::array<double, kMembers> says{};
  double total = 0;
  const Ahead reach(kReach, opinions_[0].k, tuning_.damp);
  for (std::size_t i = 0; i < kMembers; ++i) {
    order[i] = i;
    says[i] = opinions_[0].levels[i] + opinions_[0].change(i, scaled_, reach);
    total += weights_[i];
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return says[a] < says[b]; });
  const double out = tuning_.trim * tests / (tests + tuning_.trim_tests) * total;
  double below = 0, kept = 0;
  for (const std::size_t i : order) {
    const double from = std::max(below, out), to = std::min(below + weights_[i], total - out);
    below += weights_[i];
    weights_[i] = std::max(0.0, to - from);
    kept += weights_[i];
  }
  for (double& w : weights_) w /= kept;
}

// The blend as it would have been at an earlier origin with the weights of now.
double Portfolio::foretold(const Opinion& from, double ahead) const {
  double sum = 0, weight = 0;
  const Ahead then(ahead, from.k, tuning_.damp);
  for (std::size_t i = 0; i < kMembers; ++i) {
    const Member m = member(i);
    if (weights_[i] <= 0 || (m.kind == Member::Kind::family && !from.fits[m.which].usable)) continue;
    sum += weights_[i] * (from.levels[i] + from.change(i, scaled_, then));
    weight += weights_[i];
  }
  return weight > 0 ? sum / weight : from.medians[0];
}

double Portfolio::level() const {
  double sum = 0;
  for (std::size_t i = 0; i < kMembers; ++i)
    if (weights_[i] > 0) sum += weights_[i] * opinions_[0].levels[i];
  return sum;
}

double Portfolio::change(double ahead) const {
  double sum = 0;
  const Ahead then(ahead, opinions_[0].k, tuning_.damp);
  for (std::size_t i = 0; i < kMembers; ++i)
    if (weights_[i] > 0) sum += weights_[i] * opinions_[0].change(i, scaled_, then);
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
