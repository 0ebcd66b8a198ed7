// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/speed.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/balance/linear_predictors.hpp"
#include "core/balance/narx.hpp"

namespace mlq::balance {
namespace {

constexpr std::array<std::string_view, 6> kNames{"level", "ema", "last", "arx", "arima", "narx"};
constexpr double kRegretMemory = 0.05;
// A new favourite must be better by this much, or the choice flutters between equals.
constexpr double kMargin = 0.95;

double regret(double predicted, double speed) {
  if (!(predicted > 0)) return 1;
  const double ratio = predicted / speed;
  return ratio >= 1 ? ratio - 1 : 0.5 * (1 - ratio);
}

}  // namespace

std::span<const std::string_view> speed_predictor_names() {
  return kNames;
}

std::unique_ptr<SpeedPredictor> make_speed_predictor(std::string_view name) {
  if (name == "last") return std::make_unique<LastValue>();
  if (name == "ema") return std::make_unique<MovingAverage>();
  if (name == "level") return std::make_unique<Level>();
  if (name == "arima") return std::make_unique<Arima>();
  if (name == "arx") return std::make_unique<Arx>();
  if (name == "narx") return std::make_unique<Narx>();
  if (name != "best") return nullptr;
  std::vector<std::unique_ptr<SpeedPredictor>> members;
  members.reserve(kNames.size());
  for (const auto member : kNames) members.push_back(make_speed_predictor(member));
  return std::make_unique<BestPredictor>(std::move(members));
}

BestPredictor::BestPredictor(std::vector<std::unique_ptr<SpeedPredictor>> members)
    : members_(std::move(members)), predictions_(members_.size()), regrets_(members_.size()) {}

double BestPredictor::predict(const NodeState& now) {
  for (std::size_t i = 0; i < members_.size(); ++i) predictions_[i] = members_[i]->predict(now);
  return members_.empty() ? 0 : predictions_[chosen_];
}

void BestPredictor::observe(const NodeState& then, double speed) {
  if (!(std::isfinite(speed) && speed > 0)) return;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const double predicted = members_[i]->predict(then);
    if (predicted > 0) regrets_[i] += kRegretMemory * (regret(predicted, speed) - regrets_[i]);
    members_[i]->observe(then, speed);
  }
  const auto best =
      static_cast<std::size_t>(std::min_element(regrets_.begin(), regrets_.end()) - regrets_.begin());
  if (best < members_.size() && regrets_[best] < kMargin * regrets_[chosen_]) chosen_ = best;
}

std::string_view BestPredictor::chosen() const {
  return members_.empty() ? "" : members_[chosen_]->name();
}

}  // namespace mlq::balance
