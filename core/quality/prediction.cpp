// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/prediction.hpp"

#include <algorithm>
#include <cmath>

#include "core/quality/family_fit.hpp"

namespace mlq {
namespace {

constexpr std::size_t kFewest = 5;
constexpr std::size_t kFitted = 40;  // points a family is fitted to

// Clean curves follow their newest points (SLAQ's 0.8); noisy ones need the average of more.
double decay_for(double noise, double range) {
  const double share = range > 0 ? noise / range : 1;
  if (share < 0.005) return 0.8;
  return share < 0.05 ? 0.9 : 0.96;
}

void no_change(Prediction& out, double spread) {
  for (std::size_t i = 0; i < HorizonTable::kSize; ++i) {
    out.change[i] = 0;
    out.below[i] = out.above[i] = spread;
  }
}

}  // namespace

Prediction predict(const Window& window) {
  Prediction out;
  if (window.count == 0) return out;
  const auto ys = window.ys();
  out.now = out.level = smoothed_present(ys);
  const auto [low, high] = std::minmax_element(ys.begin(), ys.end());
  const double noise = noise_of(ys);
  no_change(out, 1.28 * noise);
  if (window.count < kFewest) return out;
  if (!(*high > *low)) {
    out.verdict = Verdict::constant;
    out.model = "constant";
    return out;
  }
  const std::size_t n = std::min(window.count, kFitted);
  const auto x = window.xs().last(n), y = ys.last(n);
  std::array<double, kFitted> weight{};
  const auto [near_low, near_high] = std::minmax_element(y.begin(), y.end());
  const double decay = decay_for(noise, *near_high - *near_low);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) total += weight[i] = std::pow(decay, -2 * x[i]);
  const Frame frame = frame_of(x, y, window.age);
  FamilyFit best;
  for (const Family family : {Family::exponential, Family::sublinear}) {
    const FamilyFit fit = fit_family(family, frame, x, y, {weight.data(), n});
    if (fit.usable && (!best.usable || fit.cost < best.cost)) best = fit;
  }
  if (!best.usable) {
    out.verdict = Verdict::plateau;
    out.model = "no change";
    return out;
  }
  out.level = best.value(0);
  const double sigma = std::max(noise, frame.scale * std::sqrt(std::max(best.cost, 0.0) / total));
  const double reach = 4 * window.age;
  for (std::size_t i = 0; i < HorizonTable::kSize; ++i) {
    const double h = std::min(HorizonTable::horizon(i), reach);
    out.change[i] = best.value(h) - out.level;
    out.below[i] = out.above[i] = 1.28 * sigma + 0.3 * std::abs(out.change[i]);
  }
  out.model = name_of(best.family);
  const double ten = std::abs(out.change.at(10));
  out.verdict = ten > noise                ? Verdict::improving
                : ten > 1e-4 * frame.scale ? Verdict::noisy
                                           : Verdict::plateau;
  if (y.back() > y.front() + 2 * noise && smoothed_present(y.first(n / 2)) < out.now - 2 * noise)
    out.verdict = Verdict::rising;
  return out;
}

}  // namespace mlq
