// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/settle.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <vector>

namespace mlq {

namespace {

/// The state of one settle() call: `now_` is what jobs hold as moves are accepted one by one.
class Settling {
 public:
  Settling(std::span<const Pool> pools, std::span<const UnitRequest> jobs, std::span<const Holding> held,
           const Objective& objective, const SettleOptions& options, const Allocation& target)
      : pools_(pools),
        jobs_(jobs),
        held_(held),
        objective_(objective),
        options_(options),
        target_(target),
        width_(target.units.empty() ? 0 : target.by_pool.size() / target.units.size()) {}

  std::vector<std::uint32_t> run();

 private:
  enum class Kind { start, grow };
  struct Move {
    std::size_t job;
    double worth;  ///< per core: gained by a growth, lost by a shrink
  };
  const std::uint32_t* target_row(std::size_t job) const { return &target_.by_pool[job * width_]; }
  std::uint32_t* now_row(std::size_t job) { return &now_[job * width_]; }
  double effective(std::size_t job, const std::uint32_t* row) const;
  double value(std::size_t job, const std::uint32_t* row) const {
    return objective_.value(job, effective(job, row));
  }
  double moved_share(std::size_t job) const;
  void load();
  void sort_moves();
  bool fits(std::size_t job, const std::vector<std::int64_t>& free) const;
  void apply(std::size_t job);
  void grow(const Move& move, Kind kind);
  bool changes(std::size_t job) const;
  bool next_unit(std::size_t job, Move& move, std::size_t& pool);
  void deal_out_leftovers();

  std::span<const Pool> pools_;
  std::span<const UnitRequest> jobs_;
  std::span<const Holding> held_;
  const Objective& objective_;
  const SettleOptions& options_;
  const Allocation& target_;
  std::size_t width_;
  std::vector<std::uint32_t> now_;
  std::vector<std::int64_t> free_;  ///< cores by pool; negative when nodes were lost
  std::vector<Move> starts_, grows_, shrinks_, locked_;
};

double Settling::effective(std::size_t job, const std::uint32_t* row) const {
  const UnitRequest& request = jobs_[job];
  double sum = 0, slowest = 1e300, total = 0;
  for (std::size_t p = 0; p < width_; ++p) {
    if (row[p] == 0) continue;
    const double speed = p < request.speeds.size() ? request.speeds[p] : pools_[p].speed;
    sum += speed * row[p];
    total += row[p];
    slowest = std::min(slowest, speed);
  }
  if (total == 0) return 0;
  return request.mix == Mix::additive ? sum : slowest * total;
}

// Share of the horizon that is left after the pause of a move.
double Settling::moved_share(std::size_t job) const {
  const double cost = held_[job].move_cost;
  return std::isfinite(cost) ? std::clamp(1 - std::max(cost, 0.0) / options_.horizon, 0.0, 1.0) : 0;
}

void Settling::load() {
  now_.assign(target_.by_pool.size(), 0);
  free_.resize(width_);
  for (std::size_t p = 0; p < width_; ++p) free_[p] = pools_[p].capacity;
  for (std::size_t job = 0; job < jobs_.size(); ++job)
    for (std::size_t p = 0; p < std::min(width_, held_[job].by_pool.size()); ++p) {
      now_row(job)[p] = held_[job].by_pool[p];
      free_[p] -= std::int64_t{now_row(job)[p]} * jobs_[job].unit;
    }
}

void Settling::sort_moves() {
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    const std::uint32_t *to = target_row(job), *from = now_row(job);
    if (std::equal(to, to + width_, from)) continue;
    const double cores = jobs_[job].unit;
    const auto units = std::accumulate(from, from + width_, std::int64_t{0});
    const auto wanted = std::accumulate(to, to + width_, std::int64_t{0});
    const double share = moved_share(job);
    if (units == 0) {
      starts_.push_back({job, value(job, to) / (cores * static_cast<double>(wanted))});
    } else if (wanted < units) {
      const double loss =
          (value(job, from) - share * value(job, to)) / (cores * static_cast<double>(units - wanted));
      (held_[job].since_change < options_.dwell ? locked_ : shrinks_).push_back({job, loss});
    } else if (held_[job].since_change >= options_.dwell) {
      const double more = std::max<double>(1, static_cast<double>(wanted - units));
      grows_.push_back({job, (share * value(job, to) - value(job, from)) / (cores * more)});
    }
  }
  const auto key = [&](const Move& m) { return jobs_[m.job].key; };
  const auto most = [&](const Move& a, const Move& b) {
    return a.worth != b.worth ? a.worth > b.worth : key(a) < key(b);
  };
  // Taken from the back: the cheapest shrink last.
  std::sort(starts_.begin(), starts_.end(), most);
  std::sort(grows_.begin(), grows_.end(), most);
  std::sort(shrinks_.begin(), shrinks_.end(), most);
  std::sort(locked_.begin(), locked_.end(), most);
}

bool Settling::fits(std::size_t job, const std::vector<std::int64_t>& free) const {
  for (std::size_t p = 0; p < width_; ++p) {
    const std::int64_t more = std::int64_t{target_row(job)[p]} - now_[job * width_ + p];
    if (more > 0 && more * jobs_[job].unit > free[p]) return false;
  }
  return true;
}

void Settling::apply(std::size_t job) {
  for (std::size_t p = 0; p < width_; ++p) {
    const std::int64_t more = std::int64_t{target_row(job)[p]} - now_row(job)[p];
    free_[p] -= more * jobs_[job].unit;
    now_row(job)[p] = target_row(job)[p];
  }
}

// Makes room by the cheapest shrinks and takes it, if that pays. A start always pays; then even dwell gives
// way.
void Settling::grow(const Move& move, Kind kind) {
  const std::size_t job = move.job;
  std::vector<std::int64_t> free(free_);
  std::vector<Move> used;
  double loss = 0;
  std::size_t left = shrinks_.size(), locked_left = locked_.size();
  while (!fits(job, free)) {
    const bool breaks_dwell = left == 0;
    if (breaks_dwell && (kind != Kind::start || locked_left == 0)) return;
    const Move shrink = breaks_dwell ? locked_[--locked_left] : shrinks_[--left];
    used.push_back(shrink);
    for (std::size_t p = 0; p < width_; ++p) {
      const std::int64_t less = std::int64_t{now_row(shrink.job)[p]} - target_row(shrink.job)[p];
      free[p] += less * jobs_[shrink.job].unit;
    }
    loss += value(shrink.job, now_row(shrink.job)) -
            moved_share(shrink.job) * value(shrink.job, target_row(shrink.job));
  }
  const double gain = moved_share(job) * value(job, target_row(job)) - value(job, now_row(job));
  if (kind == Kind::grow && !(gain > (1 + options_.margin) * loss && gain > 0)) return;
  shrinks_.resize(left);
  locked_.resize(locked_left);
  for (const Move& shrink : used) apply(shrink.job);
  apply(job);
}

bool Settling::changes(std::size_t job) const {
  for (std::size_t p = 0; p < width_; ++p)
    if (now_[job * width_ + p] != (p < held_[job].by_pool.size() ? held_[job].by_pool[p] : 0)) return true;
  return false;
}

// What one more unit would be worth to the job, and from which pool.
bool Settling::next_unit(std::size_t job, Move& move, std::size_t& pool) {
  const UnitRequest& request = jobs_[job];
  std::uint32_t* row = now_row(job);
  if (std::accumulate(row, row + width_, std::uint64_t{0}) >= request.max) return false;
  const double from = effective(job, row);
  bool found = false;
  for (std::size_t p = 0; p < width_; ++p) {
    if (!(request.pools >> p & 1) || free_[p] < request.unit) continue;
    ++row[p];
    const double to = effective(job, row);
    --row[p];
    const double worth = objective_.density(job, from, to, request.unit);
    if (worth >= 0 && (!found || worth > move.worth)) move = {job, worth}, pool = p, found = true;
  }
  return found;
}

// A shrink may have freed more than its taker needed. Jobs that pay for a change anyway use the rest; a job
// that was to shrink may so end where it was.
void Settling::deal_out_leftovers() {
  if (std::all_of(free_.begin(), free_.end(), [](std::int64_t f) { return f <= 0; })) return;
  const auto less = [&](const Move& a, const Move& b) {
    return a.worth != b.worth ? a.worth < b.worth : jobs_[a.job].key > jobs_[b.job].key;
  };
  std::priority_queue<Move, std::vector<Move>, decltype(less)> queue(less);
  Move move{};
  std::size_t pool = 0;
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    const std::uint32_t* row = now_row(job);
    const bool runs = std::any_of(row, row + width_, [](std::uint32_t units) { return units > 0; });
    if (runs && jobs_[job].sizes.empty() && changes(job) && next_unit(job, move, pool)) queue.push(move);
  }
  while (!queue.empty()) {
    const std::size_t job = queue.top().job;
    queue.pop();
    if (!next_unit(job, move, pool)) continue;
    ++now_row(job)[pool];
    free_[pool] -= jobs_[job].unit;
    if (next_unit(job, move, pool)) queue.push(move);
  }
}

std::vector<std::uint32_t> Settling::run() {
  load();
  sort_moves();
  // Lost nodes first: someone has to give way.
  const auto over = [&] {
    return std::any_of(free_.begin(), free_.end(), [](std::int64_t f) { return f < 0; });
  };
  while (over() && !(shrinks_.empty() && locked_.empty())) {
    std::vector<Move>& from = shrinks_.empty() ? locked_ : shrinks_;
    apply(from.back().job);
    from.pop_back();
  }
  for (const Move& move : starts_) grow(move, Kind::start);
  for (const Move& move : grows_) grow(move, Kind::grow);
  deal_out_leftovers();
  return std::move(now_);
}

}  // namespace

void settle(std::span<const Pool> pools, std::span<const UnitRequest> jobs, std::span<const Holding> held,
            const Objective& objective, const SettleOptions& options, Allocation& target) {
  bool priced = options.dwell > 0;
  for (const Holding& holding : held) priced |= holding.move_cost > 0;
  if (!priced || target.units.empty()) return;
  Settling settling(pools, jobs, held, objective, options, target);
  target.by_pool = settling.run();
  const std::size_t width = target.by_pool.size() / target.units.size();
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const auto row = target.row(job, width);
    target.units[job] = std::accumulate(row.begin(), row.end(), 0U);
  }
}

}  // namespace mlq
