// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlq {
namespace {

constexpr std::size_t kFewest = 5;
constexpr double kReach = 4;        // lengths of the run so far: beyond, nothing more is foreseen
constexpr double kMostGrowth = 10;  // of the error with the horizon
constexpr double kUseless = 0.005;  // change worth a prediction, as a share of the run's range

// A change is judged over a horizon that means something for the length of the run.
double telling_horizon(const Window& window) {
  return std::max(10.0, 0.1 * window.age);
}

Verdict verdict_of(const Window& window, const Prediction& p, double noise) {
  const double h = telling_horizon(window);
  const double change = p.change(h);
  if (!(std::abs(change) > kUseless * window.range)) return Verdict::plateau;
  if (change > 0) return change > p.spread(h) || change > 2 * noise ? Verdict::rising : Verdict::plateau;
  return -change > p.spread(h) || -change > 2 * noise ? Verdict::improving : Verdict::noisy;
}

float small(double value) {
  constexpr double largest = 1e30;
  return static_cast<float>(std::clamp(value, -largest, largest));
}

void nothing_to_foresee(Prediction& out, double spread) {
  out.unit = spread;
  for (std::size_t i = 0; i < HorizonTable::kSize; ++i) {
    out.changes[i] = 0;
    out.spreads[i] = 1;
  }
}

// Half of the 80 % interval h points ahead. `quiet` is the part of the back-tests' error that noise explains.
double spread_at(double h, const Portfolio& portfolio, double quiet, double error, const Tuning& tuning) {
  const double times = h / portfolio.tested_horizon(), log_times = std::log(times);  // -inf at h = 0
  const double growth = std::exp(log_times * (times < 1 ? tuning.growth : tuning.growth_beyond));
  const double calm = times > 1 ? std::exp(log_times * tuning.calm_growth) : 1;
  const double few = 1 + tuning.few / static_cast<double>(portfolio.tests() + 1);
  return few * tuning.errors *
         (quiet * std::min(calm, kMostGrowth) + (error - quiet) * std::min(growth, kMostGrowth));
}

void foresee(const Window& window, const ScaledWindow& scaled, const Portfolio& portfolio, double noise,
             const Tuning& tuning, Prediction& out) {
  const double unit = scaled.frame.scale;
  const double furthest = kReach * window.age;
  const double error = unit * portfolio.error(), quiet = std::min(error, 0.5 * noise);
  out.level = scaled.frame.base + unit * portfolio.level();
  out.unit = unit;
  double change = 0;
  for (std::size_t i = 0; i < HorizonTable::kSize; ++i) {
    const double h = HorizonTable::horizon(i);
    if (i == 0 || HorizonTable::horizon(i - 1) < furthest) change = portfolio.change(std::min(h, furthest));
    out.changes[i] = small(change);
    out.spreads[i] = small(portfolio.tests() > 0 ? spread_at(h, portfolio, quiet, error, tuning) / unit
                                                 : 1.28 * noise / unit + tuning.untested * std::abs(change));
  }
}

}  // namespace

Prediction predict(const Window& window, Portfolio::Memory& memory, const Tuning& tuning) {
  Prediction out;
  if (window.count == 0) return out;
  const auto ys = window.ys();
  out.now = out.level = smoothed_present(ys);
  out.lowest = window.nonnegative ? 0 : -std::numeric_limits<double>::max();
  const double noise = noise_of(ys);
  nothing_to_foresee(out, 1.28 * noise);
  if (window.count < kFewest) return out;
  const ScaledWindow scaled = scale(window, memory.spacing == window.spacing ? &memory.frame : nullptr);
  if (scaled.count == 0) {
    out.verdict = window.range > 0 ? Verdict::plateau : Verdict::constant;
    out.model = window.range > 0 ? "no change" : "constant";
    return out;
  }
  const Portfolio portfolio(scaled, memory, tuning);
  memory.spacing = window.spacing;
  foresee(window, scaled, portfolio, noise, tuning, out);
  out.model = portfolio.strongest();
  out.verdict = verdict_of(window, out, noise);
  return out;
}

}  // namespace mlq
