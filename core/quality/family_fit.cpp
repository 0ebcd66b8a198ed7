// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/family_fit.hpp"

#include <algorithm>
#include <cmath>

#include "core/quality/models.hpp"

namespace mlq {
namespace {

constexpr std::size_t kFewest = 5;  // SLAQ 3.2: at least 5 losses before predicting
constexpr std::size_t kFrame = 48;  // points whose range is the unit of y'
constexpr double kFurthest = 1e15;  // number of a point; beyond, a curve is taken to have ended
constexpr double kDeepest = 3;      // a floor is at most that far below base, in ranges
constexpr double kFurthestOrigin =
    4;  // in lengths of the window: further back the terms of a polynomial coincide
constexpr double kSmallestRange = 1e-290;

constexpr double kFlat = 1e-12;  // an amplitude that is none

// Where the search starts when no earlier fit is known: the best of a coarse grid, so that it ends in the
// same minimum whatever the curve looks like.
constexpr std::array kPoles{0.003, 0.03, 0.15, 0.6, 2.5};  // c/(a + b) of a rational family
constexpr std::array kBends{0.0, 0.5, 1.0};                // a/(a + b)
constexpr std::array kRates{0.3, 1.0, 2.5, 6.0, 15.0};     // decays over the window

template <class Shape>
using Fit = SeparableFit<Shape, Window::kCapacity>;

SublinearShape::Vector parameters_of(const SublinearShape&, const Eigen::Vector4d& p) {
  return {(p[0] + p[1]) / (p[0] + p[1] + p[2]), p[0] / std::max(p[0] + p[1], kFlat)};
}
HyperbolaShape::Vector parameters_of(const HyperbolaShape&, const Eigen::Vector4d& p) {
  return HyperbolaShape::Vector(p[0] / (p[0] + p[1]));
}
ExponentialShape::Vector parameters_of(const ExponentialShape&, const Eigen::Vector4d& p) {
  return ExponentialShape::Vector(std::log(p[1]));
}

Eigen::Vector4d curve_of(const SublinearShape&, const Fit<SublinearShape>::Point& at, double) {
  const double amplitude = std::max(at.amplitude, kFlat);
  return {at.u[0] * at.u[1] / amplitude, at.u[0] * (1 - at.u[1]) / amplitude, (1 - at.u[0]) / amplitude,
          at.floor};
}
Eigen::Vector4d curve_of(const HyperbolaShape&, const Fit<HyperbolaShape>::Point& at, double) {
  const double amplitude = std::max(at.amplitude, kFlat);
  return {at.u[0] / amplitude, (1 - at.u[0]) / amplitude, at.floor, 0};
}
Eigen::Vector4d curve_of(const ExponentialShape&, const Fit<ExponentialShape>::Point& at, double newest) {
  const double rate = std::exp(at.u[0]);
  return {std::log(std::max(at.amplitude, kFlat)) + rate * newest, rate, at.floor, 0};
}

template <class Try>
void try_grid(const SublinearShape&, std::span<const double>, const Try& attempt) {
  for (const double pole : kPoles)
    for (const double bend : kBends) attempt({1 / (1 + pole), bend});
}
template <class Try>
void try_grid(const HyperbolaShape&, std::span<const double>, const Try& attempt) {
  for (const double pole : kPoles) attempt(HyperbolaShape::Vector(1 / (1 + pole)));
}
template <class Try>
void try_grid(const ExponentialShape&, std::span<const double> x, const Try& attempt) {
  for (const double rate : kRates) attempt(ExponentialShape::Vector(std::log(rate / (x.back() - x.front()))));
}

template <class Shape>
FamilyFit run(const Shape& shape, const FitProblem& problem, const FamilyFit* start,
              const SolveOptions& options) {
  Fit<Shape> fit(shape, problem.x, problem.y, problem.weight(), problem.lowest, problem.highest);
  typename Fit<Shape>::Point best;
  if (start != nullptr) best = fit.at(parameters_of(shape, start->p));
  if (!(best.amplitude > kFlat)) {  // from a flat curve no direction leads away
    try_grid(shape, problem.x, [&](const typename Shape::Vector& u) {
      const auto point = fit.roughly_at(u);
      if (point.cost < best.cost) best = point;
    });
    best = fit.at(best.u);
  }
  FamilyFit out;
  if (!best.usable()) return out;
  best = fit.solve(best, options);
  out.p = curve_of(shape, best, problem.x.back());
  out.cost = best.cost;
  out.usable = true;
  return out;
}

void weigh(const ScaledWindow& window, const FitRange& range, FitProblem& problem, std::size_t from) {
  const double forget = std::log(range.decay);
  double weight = 1;
  problem.even = true;
  for (std::size_t i = problem.x.size(); i-- > 0;) {
    problem.weights[i] = weight;
    if (i == 0) break;
    const double step = window.k[from + i] - window.k[from + i - 1];
    if (std::abs(step - 1) < 1e-9) {
      weight *= range.decay;
    } else {
      problem.even = false;
      weight *= std::exp(forget * step);
    }
  }
}

}  // namespace

const char* name_of(Family family) noexcept {
  switch (family) {
    case Family::sublinear:
      return "sublinear";
    case Family::exponential:
      return "exponential";
    case Family::hyperbola:
      return "hyperbola";
    case Family::power:
      return "power";
  }
  return "";
}

double Frame::time(double k) const {
  return std::max((std::min(k, kFurthest) - shift) / origin, 1e-9);
}

ScaledWindow scale(const Window& window, const Frame* previous) {
  ScaledWindow out;
  const std::size_t n = window.count;
  if (n == 0) return out;
  const auto recent = window.ys().last(std::min(n, kFrame));
  const auto [low, high] = std::minmax_element(recent.begin(), recent.end());
  const double range = *high - *low;
  if (!(range > kSmallestRange)) return out;
  const double length = std::max(-window.x[n - recent.size()], 1.0);
  const double origin = std::max(std::min(window.age, kFurthestOrigin * length), length + 1);
  out.frame = {window.age - origin, origin, *low, range};
  if (previous != nullptr) {
    const double t = previous->time(window.age);
    const bool same_range = range < 1.5 * previous->scale && range > 0.4 * previous->scale &&
                            *low > previous->base - 0.5 * previous->scale &&
                            *low < previous->base + 0.5 * previous->scale;
    if (same_range && t >= 1 && t < 1.25 && previous->time(window.age - length) > 1e-3) out.frame = *previous;
  }
  for (std::size_t i = 0; i < n; ++i) {
    out.k[i] = std::max(window.age + window.x[i], 1.0);
    out.t[i] = out.frame.time(out.k[i]);
    out.log_k[i] = std::log(out.k[i] / out.frame.origin);
    out.y[i] = std::clamp((window.y[i] - out.frame.base) / out.frame.scale, -1e9, 1e9);
  }
  out.lowest = -kDeepest;
  if (window.nonnegative) out.lowest = std::min(0.0, std::max(-kDeepest, -out.frame.base / out.frame.scale));
  out.count = n;
  return out;
}

double value_at(Family family, const Frame& frame, const FamilyFit& fit, double k) {
  const auto& p = fit.p;
  const double x =
      family == Family::power ? std::log(std::clamp(k, 1.0, kFurthest) / frame.origin) : frame.time(k);
  switch (family) {
    case Family::sublinear:
      return 1 / ((p[0] * x + p[1]) * x + p[2]) + p[3];
    case Family::hyperbola:
      return 1 / (p[0] * x + p[1]) + p[2];
    case Family::exponential:
    case Family::power:
      return std::exp(std::min(p[0] - p[1] * x, 300.0)) + p[2];
  }
  return 0;
}

double floor_of(Family family, const FamilyFit& fit) {
  return family == Family::sublinear ? fit.p[3] : fit.p[2];
}

FitProblem problem_of(Family family, const ScaledWindow& window, const FitRange& range) {
  const std::size_t end = std::min(range.end, window.count), n = std::min(range.length, end);
  FitProblem problem;
  if (n < kFewest) return problem;
  const auto& x = family == Family::power ? window.log_k : window.t;
  problem.x = {x.data() + end - n, n};
  problem.y = {window.y.data() + end - n, n};
  problem.lowest = window.lowest;
  weigh(window, range, problem, end - n);
  return problem;
}

FamilyFit fit_family(Family family, const ScaledWindow& window, const FitRange& range, const FamilyFit* start,
                     const SolveOptions& options) {
  const FitProblem problem = problem_of(family, window, range);
  if (problem.x.empty()) return {};
  if (start != nullptr && !start->usable) start = nullptr;
  FamilyFit fit;
  switch (family) {
    case Family::sublinear:
      fit = run(SublinearShape{}, problem, start, options);
      break;
    case Family::hyperbola:
      fit = run(HyperbolaShape{}, problem, start, options);
      break;
    case Family::exponential:
      fit = run(ExponentialShape{problem.even}, problem, start, options);
      break;
    case Family::power:
      fit = run(ExponentialShape{}, problem, start, options);
      break;
  }
  const double last = window.k[std::min(range.end, window.count) - 1];
  fit.usable = fit.usable && std::isfinite(value_at(family, window.frame, fit, last)) &&
               std::isfinite(value_at(family, window.frame, fit, kFurthest));
  return fit;
}

}  // namespace mlq
