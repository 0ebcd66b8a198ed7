// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/policies.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/balance/evidence.hpp"
#include "core/balance/rank_fit.hpp"
#include "core/balance/shadow.hpp"

namespace mlq::balance {
namespace {

constexpr std::array<std::string_view, 6> kNames{"lb", "gpu", "pair", "dbs", "static", "equal"};

class Base : public SizingPolicy {
 public:
  explicit Base(const PolicyOptions& options)
      : options_(options), sizes_(equal_split(options.global_batch, options.ranks)) {}
  const Sizes& sizes() const final { return sizes_; }

 protected:
  bool complete(const Exchanged& e) const {
    return e.seconds.size() == sizes_.size() && (e.sizes.empty() || e.sizes.size() == sizes_.size());
  }
  std::uint64_t timed(const Exchanged& e, std::size_t i) const {
    return e.sizes.empty() ? sizes_[i] : e.sizes[i];
  }
  double speed(const Exchanged& e, std::size_t i) const {
    return static_cast<double>(timed(e, i)) / e.seconds[i];
  }
  static std::uint64_t cap(const Exchanged& e, std::size_t i) {
    return i < e.max_sizes.size() ? e.max_sizes[i] : UINT64_MAX;
  }
  bool exceeds(const Exchanged& e) const {
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      if (sizes_[i] > cap(e, i)) return true;
    return false;
  }
  /// The equal split, or what comes nearest to it where memory leaves less.
  Sizes equal_within(const Exchanged& e) const {
    Sizes equal = equal_split(options_.global_batch, options_.ranks);
    std::vector<RankTime> same(equal.size());
    bool fits = true;
    for (std::size_t i = 0; i < equal.size(); ++i) {
      same[i] = {.per_sample = 1, .max_size = cap(e, i)};
      fits = fits && equal[i] <= cap(e, i);
    }
    if (fits) return equal;
    return solve(same).value_or(equal);
  }
  /// On a finer grain where memory leaves too few whole ones.
  std::optional<Sizes> solve(std::span<const RankTime> ranks) const {
    std::uint64_t grain = options_.grain;
    auto solved = solve_equal_finish(options_.global_batch, ranks, grain);
    for (; !solved && grain > 1; solved = solve_equal_finish(options_.global_batch, ranks, grain)) grain /= 2;
    return solved;
  }
  void set_proportional(std::span<const double> weights) {
    if (auto solved = proportional_split(options_.global_batch, weights, options_.grain))
      sizes_ = *std::move(solved);
  }

  PolicyOptions options_;
  Sizes sizes_;
};

class Equal final : public Base {
 public:
  using Base::Base;
  void next(const Exchanged&) override {}
  std::string_view name() const override { return "equal"; }
};

/// Proportional to the mean speed of each period's iterations: once after ten (static), or every epoch (DBS).
class Periodic final : public Base {
 public:
  Periodic(const PolicyOptions& options, bool once)
      : Base(options), period_(once ? 10 : options.epoch_iterations), once_(once), speeds_(options.ranks) {}
  void next(const Exchanged& e) override {
    if (!complete(e) || done_) return;
    for (std::size_t i = 0; i < speeds_.size(); ++i) speeds_[i] += speed(e, i);
    if (++count_ < period_) return;
    set_proportional(speeds_);
    std::fill(speeds_.begin(), speeds_.end(), 0.0);
    count_ = 0;
    done_ = once_;
  }
  std::string_view name() const override { return once_ ? "static" : "dbs"; }

 private:
  std::uint64_t period_, count_ = 0;
  bool once_, done_ = false;
  std::vector<double> speeds_;
};

/// LB-BSP's own GPU loop (SoCC '20, section 3.3.2, constants ours): over a window, move a fixed amount from
/// the straggler to the leader that has memory left; on oscillation halve the amount and double the window.
class PairMoves final : public Base {
 public:
  explicit PairMoves(const PolicyOptions& options)
      : Base(options),
        amount_(
            std::max<std::uint64_t>(1, options.global_batch / (8 * std::max<std::size_t>(1, options.ranks)))),
        sums_(options.ranks) {}
  void next(const Exchanged& e) override {
    if (!complete(e)) return;
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += e.seconds[i];
    if (++count_ < window_) return;
    move(e);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    count_ = 0;
  }
  std::string_view name() const override { return "pair"; }

 private:
  void move(const Exchanged& e) {
    const auto slowest =
        static_cast<std::size_t>(std::max_element(sums_.begin(), sums_.end()) - sums_.begin());
    std::size_t leader = slowest;
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (sizes_[i] + amount_ <= cap(e, i) && (leader == slowest || sums_[i] < sums_[leader])) leader = i;
    if (leader == slowest || sums_[slowest] - sums_[leader] < 0.02 * sums_[slowest]) return;
    if (slowest == last_leader_ && leader == last_slowest_) {
      amount_ = std::max<std::uint64_t>(1, amount_ / 2);
      window_ *= 2;
    }
    const std::uint64_t moved = std::min(amount_, sizes_[slowest] > 1 ? sizes_[slowest] - 1 : 0);
    sizes_[slowest] -= moved;
    sizes_[leader] += moved;
    last_slowest_ = slowest;
    last_leader_ = leader;
  }

  std::uint64_t amount_, window_ = 1, count_ = 0;
  std::size_t last_slowest_ = SIZE_MAX, last_leader_ = SIZE_MAX;
  std::vector<double> sums_;
};

/// Speeds foreseen, trusted only on evidence: what a rival of the equal split would have taken is known after
/// every iteration, for a rank's time is proportional to its samples.
class CpuBalance final : public Base {
 public:
  explicit CpuBalance(const PolicyOptions& options)
      : Base(options),
        models_(options.ranks),
        speeds_(options.ranks),
        states_(options.ranks),
        foreseen_(options.ranks) {
    rivals_.fill(sizes_);
  }
  void next(const Exchanged& e) override {
    if (!complete(e) || (!e.predicted.empty() && e.predicted.size() != sizes_.size())) return;
    for (std::size_t i = 0; i < sizes_.size(); ++i) speeds_[i] = timed(e, i) > 0 ? speed(e, i) : 0;
    if (std::all_of(speeds_.begin(), speeds_.end(), [](double v) { return v > 0; })) judge();
    bool known = true;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const double predicted = e.predicted.empty() ? predict(e, i) : e.predicted[i];
      foreseen_[i] = predicted;
      known = known && predicted > 0;
    }
    if (known) decide(e);
  }
  std::string_view name() const override { return "lb"; }

 private:
  // The band only keeps ranks from trading single samples: a change of size costs CPUs next to nothing.
  static constexpr double kDeadBand = 0.002;

  void judge() {
    std::array<double, kRivals> makespans{};
    for (std::size_t r = 0; r < kRivals; ++r)
      for (std::size_t i = 0; i < sizes_.size(); ++i)
        makespans[r] = std::max(makespans[r], static_cast<double>(rivals_[r][i]) / speeds_[i]);
    evidence_.observe(makespans, speeds_);
  }

  void decide(const Exchanged& e) {
    for (const Rival rival : {kEqual, kLast, kForeseen}) {
      for (std::size_t i = 0; i < sizes_.size(); ++i)
        models_[i] = {
            .per_sample = 1 / expected(rival, i), .min_size = options_.grain, .max_size = cap(e, i)};
      if (rival == kEqual) {
        rivals_[kEqual] = equal_within(e);
      } else if (auto solved = solve(models_)) {
        rivals_[rival] = *std::move(solved);
      }
      if (rival != evidence_.trusted()) continue;
      const bool better = makespan(rivals_[rival], models_) < (1 - kDeadBand) * makespan(sizes_, models_);
      if (rival == kEqual || better || exceeds(e)) sizes_ = rivals_[rival];
    }
  }

  double expected(Rival rival, std::size_t i) const {
    return rival == kEqual ? 1 : rival == kLast ? speeds_[i] : foreseen_[i];
  }

  double predict(const Exchanged& e, std::size_t i) {
    predictors_.reserve(sizes_.size());
    while (predictors_.size() < sizes_.size())
      predictors_.push_back(make_speed_predictor(options_.predictor));
    if (speeds_[i] > 0) predictors_[i]->observe(states_[i], speeds_[i]);
    if (i < e.states.size()) states_[i] = e.states[i];
    return predictors_[i]->predict(states_[i]);
  }

  Evidence evidence_;
  std::array<Sizes, kRivals> rivals_;  ///< for the coming iteration
  std::vector<RankTime> models_;
  std::vector<double> speeds_;
  std::vector<std::unique_ptr<SpeedPredictor>> predictors_;
  std::vector<NodeState> states_;
  std::vector<double> foreseen_;
};

/// Times fitted per batch size: adopts a solution only when its predicted gain is above the noise, and falls
/// back to the equal split while the shadow says that balancing does not pay.
class GpuBalance final : public Base {
 public:
  explicit GpuBalance(const PolicyOptions& options)
      : Base(options), models_(options.ranks), fits_(options.ranks) {}
  void next(const Exchanged& e) override {
    if (!complete(e)) return;
    double longest = 0, longest_equal = 0, noise = 0;
    std::uint64_t measured = kRemembered;
    const auto equal = equal_split(options_.global_batch, options_.ranks);
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      fits_[i].observe(timed(e, i), e.seconds[i]);
      if (!fits_[i].known()) return;
      models_[i] = fits_[i].fit();
      models_[i].min_size = options_.grain;
      models_[i].max_size = std::min(models_[i].max_size, cap(e, i));
      longest = std::max(longest, e.seconds[i]);
      longest_equal = std::max(longest_equal, models_[i].seconds(equal[i]));
      noise = std::max(noise, fits_[i].noise());
      measured = std::min(measured, fits_[i].count());
    }
    shadow_.observe(longest, longest_equal);
    adopt(e, std::clamp(0.5 * noise / std::sqrt(static_cast<double>(measured)), 0.005, 0.05));
  }
  std::string_view name() const override { return "gpu"; }

 private:
  static constexpr std::uint64_t kRemembered = 64;  ///< measurements that a fit rests on at most

  void adopt(const Exchanged& e, double dead_band) {
    if (shadow_.reverted()) {
      sizes_ = equal_within(e);
      return;
    }
    auto solved = solve(models_);
    if (!solved) return;
    bool forced = false;  // memory leaves no choice
    for (std::size_t i = 0; i < sizes_.size(); ++i) forced = forced || sizes_[i] > models_[i].max_size;
    if (forced || makespan(*solved, models_) < (1 - dead_band) * makespan(sizes_, models_))
      sizes_ = *std::move(solved);
  }

  std::vector<RankTime> models_;
  std::vector<RankTimeFit> fits_;
  Shadow shadow_;
};

}  // namespace

std::span<const std::string_view> sizing_policy_names() {
  return kNames;
}

std::unique_ptr<SizingPolicy> make_sizing_policy(std::string_view name, const PolicyOptions& options) {
  if (name == "equal") return std::make_unique<Equal>(options);
  if (name == "static") return std::make_unique<Periodic>(options, true);
  if (name == "dbs") return std::make_unique<Periodic>(options, false);
  if (name == "pair") return std::make_unique<PairMoves>(options);
  if (name == "gpu") return std::make_unique<GpuBalance>(options);
  if (name == "lb" && make_speed_predictor(options.predictor)) return std::make_unique<CpuBalance>(options);
  return nullptr;
}

}  // namespace mlq::balance
