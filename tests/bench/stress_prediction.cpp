// SPDX-License-Identifier: GPL-2.0-or-later
// The predictor on curves that were changed (thinned out, smoothed, made noisy, in other units, cut off, with
// spikes), and at other horizons: what was tuned to one collection shows here. Prints Markdown.
//     stress_prediction FOLDER...
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <random>
#include <string>

#include "tests/bench/curve_scores.hpp"

namespace {

using namespace mlq;
using namespace mlq::bench;

double range_of(const RecordedCurve& curve) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double y : curve.losses) {
    if (!std::isfinite(y)) continue;
    low = std::min(low, y);
    high = std::max(high, y);
  }
  return high > low ? high - low : 0;
}

// The median step of the curve, the unit of added noise: a curve's range says little about it after a
// divergence.
double usual_step(const RecordedCurve& curve) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < curve.losses.size(); ++i)
    if (std::isfinite(curve.losses[i] - curve.losses[i - 1]))
      steps.push_back(std::abs(curve.losses[i] - curve.losses[i - 1]));
  if (steps.empty()) return 0;
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  return steps[steps.size() / 2];
}

void every(RecordedCurve& curve, std::size_t n) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < curve.losses.size(); i += n, ++out) {
    curve.steps[out] = curve.steps[i];
    curve.losses[out] = curve.losses[i];
  }
  curve.steps.resize(out);
  curve.losses.resize(out);
}

void smooth(RecordedCurve& curve) {  // as a trainer's running mean
  double mean = NAN;
  for (double& y : curve.losses) {
    if (!std::isfinite(y)) continue;
    mean = std::isfinite(mean) ? 0.7 * mean + 0.3 * y : y;
    y = mean;
  }
}

void disturb(RecordedCurve& curve, double steps, std::mt19937& random) {
  std::normal_distribution<double> gauss(0, steps * usual_step(curve));
  for (double& y : curve.losses) y += gauss(random);
}

void scale(RecordedCurve& curve, double factor, double ranges) {
  const double shift = ranges * range_of(curve);
  for (double& y : curve.losses) y = factor * (y + shift);
}

void negate(RecordedCurve& curve) {
  for (double& y : curve.losses) y = -y;
  curve.goal = Goal::max;
}

void cut(RecordedCurve& curve) {
  curve.losses.resize(curve.losses.size() / 2);
  curve.steps.resize(curve.losses.size());
}

void spike(RecordedCurve& curve, std::mt19937& random) {  // 2 % of the points, 20 usual steps high
  const double height = 20 * usual_step(curve);
  for (double& y : curve.losses)
    if (random() % 50 == 0) y += height;
}

void lose(RecordedCurve& curve, std::mt19937& random) {
  for (double& y : curve.losses)
    if (random() % 10 == 0) y = NAN;
}

template <class Change>
std::vector<RecordedCurve> changed(std::vector<RecordedCurve> curves, const Change& change) {
  std::mt19937 random(1);
  for (RecordedCurve& curve : curves) change(curve, random);
  return curves;
}

void print(const char* what, const Score& s) {
  std::printf("| %s | %zu | %.2f %% | %.4f | %.4f | %.0f %% |\n", what, s.origins, 100 * s.relative_median,
              s.reduction_error, s.no_change, 100 * s.covered);
}

void changes(const std::vector<RecordedCurve>& curves) {
  const auto show = [&](const char* what, const auto& change) {
    print(what, score(changed(curves, change), Tuning{}));
  };
  using Random = std::mt19937;
  print("as recorded", score(curves, Tuning{}));
  show("every second point", [](RecordedCurve& c, Random&) { every(c, 2); });
  show("every fifth point", [](RecordedCurve& c, Random&) { every(c, 5); });
  show("smoothed, 0.7 of the mean kept", [](RecordedCurve& c, Random&) { smooth(c); });
  show("noise of the median step", [](RecordedCurve& c, Random& r) { disturb(c, 1, r); });
  show("noise of 3 median steps", [](RecordedCurve& c, Random& r) { disturb(c, 3, r); });
  show("raised by the range", [](RecordedCurve& c, Random&) { scale(c, 1, 1); });
  show("lowered by the range", [](RecordedCurve& c, Random&) { scale(c, 1, -1); });
  show("times 1e-6", [](RecordedCurve& c, Random&) { scale(c, 1e-6, 0); });
  show("times 1e6", [](RecordedCurve& c, Random&) { scale(c, 1e6, 0); });
  show("negated, goal=max", [](RecordedCurve& c, Random&) { negate(c); });
  show("the first half", [](RecordedCurve& c, Random&) { cut(c); });
  show("spikes of 20 median steps at 2 %", [](RecordedCurve& c, Random& r) { spike(c, r); });
  show("10 % of the points missing", [](RecordedCurve& c, Random& r) { lose(c, r); });
}

}  // namespace

int main(int argc, char** argv) try {
  constexpr const char* kHead =
      " | origins | median relative error | error of the reduction | of predicting no change | in the 80 % "
      "interval "
      "|\n|---|---|---|---|---|---|\n";
  for (int i = 1; i < argc; ++i) {
    const std::vector<RecordedCurve> curves = read_folder(argv[i]);
    std::printf("| change");
    std::printf("%s", kHead);
    changes(curves);
    std::printf("\n| points ahead");
    std::printf("%s", kHead);
    for (const std::size_t horizon : {1, 5, 10, 20, 50})
      print(std::to_string(horizon).c_str(), score(curves, Tuning{}, horizon));
    std::printf("\n");
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "stress_prediction: %s\n", error.what());
  return 1;
}
