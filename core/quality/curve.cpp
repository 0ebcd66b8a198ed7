// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/curve.hpp"

#include <algorithm>
#include <cmath>

#include "core/quality/history.hpp"
#include "core/quality/prediction.hpp"
#include "core/quality/window.hpp"

namespace mlq {
namespace {

constexpr Tuning kTuning;

}  // namespace

struct LossCurve::State {
  explicit State(const CurveOptions& given)
      : options(given), history(given.capacity, given.goal == Goal::max) {}

  CurveOptions options;
  History history;
  std::uint64_t fitted = 0;  // version of the history that was fitted
  Prediction prediction;
  Portfolio::Memory memory;
  SmallHorizonTable gain;    // normalised, by horizon in points
  double per_iteration = 1;  // points an iteration
  double since = 0;          // points between the newest finite cost and the newest point
  double reached = 0;

  double target_cost() const { return history.sign() * options.target_loss; }
  bool targeted() const {
    return options.has_target_loss && std::abs(options.target_loss) <= History::kLargestCost;
  }
  bool diverged() const { return history.any() && history.trailing_bad() > history.longest_inner_bad(); }
  double ahead(double iterations) const {
    return since +
           (iterations > 0 ? std::min(iterations, 2 * History::kLargestIteration) * per_iteration : 0.0);
  }
  double floor() const;
  void normalise();
};

// The reachable floor: the target, or the lowest cost foreseen or seen.
double LossCurve::State::floor() const {
  if (targeted()) return target_cost();
  const double foreseen = prediction.level + prediction.change(HorizonTable::kFurthest);
  return std::min(foreseen, history.best_cost());
}

void LossCurve::State::normalise() {
  const double first = history.first_cost();
  const double end = floor();
  const double reachable = first - end;
  const double unit = options.normalisation == Normalisation::slaq ? history.largest_drop() : reachable;
  const double most = targeted() ? prediction.level - end : HUGE_VAL;
  reached = reachable > 0 ? std::clamp((first - prediction.level) / reachable, 0.0, 1.0)
                          : (targeted() && history.any() ? 1.0 : 0.0);
  const double cap = options.normalisation == Normalisation::slaq ? 1e9 : 1.0;
  double highest = 0;
  for (std::size_t i = 0; i < HorizonTable::kSize; ++i) {
    const double reduction = std::min(-prediction.unit * prediction.changes[i], most);
    const double share = unit > 0 && !diverged() ? reduction / unit : 0.0;
    if (std::isfinite(share)) highest = std::max(highest, std::min(share, cap));
    gain[i] = static_cast<float>(highest);
  }
}

LossCurve::LossCurve(CurveOptions options) : state_(std::make_unique<State>(options)) {}
LossCurve::~LossCurve() = default;
LossCurve::LossCurve(LossCurve&&) noexcept = default;
LossCurve& LossCurve::operator=(LossCurve&&) noexcept = default;

bool LossCurve::add(const LossPoint& point) {
  return state_->history.add(point.iteration, point.loss, point.time);
}

void LossCurve::refit() {
  State& s = *state_;
  if (s.fitted == s.history.version()) return;
  s.fitted = s.history.version();
  const Tuning& tuning = s.options.tuning != nullptr ? *s.options.tuning : kTuning;
  Window window = newest(s.history);
  const std::size_t segment = segment_start(window.ys(), tuning.jump);
  if (window.count - segment >= tuning.segment) restart(window, segment);
  s.per_iteration = 1 / window.spacing;
  s.since = window.since;
  s.prediction = predict(window, s.memory, tuning);
  if (s.diverged()) s.prediction.verdict = Verdict::diverged;
  s.normalise();
}

Forecast LossCurve::forecast(double iterations_ahead) const {
  const State& s = *state_;
  const Prediction& p = s.prediction;
  const double h = s.ahead(iterations_ahead);
  const double expected = p.level + p.change(h);
  const double spread = p.spread(h);
  const double lowest = std::min(expected, std::max(expected - spread, p.lowest)),
               highest = expected + spread;
  const bool negated = s.history.sign() < 0;
  return {s.history.sign() * p.now,
          s.history.sign() * expected,
          negated ? -highest : lowest,
          negated ? -lowest : highest,
          p.model,
          p.verdict};
}

double LossCurve::gain(double iterations_ahead) const {
  const State& s = *state_;
  return std::max(0.0, s.gain.at(s.ahead(iterations_ahead)) - s.gain.at(s.since));
}

double LossCurve::fraction_reached() const {
  return state_->reached;
}
std::size_t LossCurve::size() const {
  return state_->history.size();
}
double LossCurve::first_loss() const {
  return state_->history.sign() * state_->history.first_cost();
}
double LossCurve::last_loss() const {
  return state_->history.sign() * state_->history.last_cost();
}
double LossCurve::best_loss() const {
  return state_->history.sign() * state_->history.best_cost();
}
double LossCurve::last_iteration() const {
  return state_->history.last_iteration();
}
double LossCurve::length() const {
  const History& history = state_->history;
  return history.size() > 0 ? history.last_iteration() - history.iteration(0) + spacing() : 0;
}
double LossCurve::spacing() const {
  return 1 / state_->per_iteration;
}
double LossCurve::last_time() const {
  return state_->history.last_time();
}
Verdict LossCurve::verdict() const {
  return state_->prediction.verdict;
}

}  // namespace mlq
