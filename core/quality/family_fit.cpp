// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/family_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/quality/models.hpp"

namespace mlq {
namespace {

constexpr std::size_t kFewest = 5;  // SLAQ 3.2: at least 5 losses before predicting
constexpr std::size_t kFrame = 48;  // points whose range is the unit of y'
constexpr double kFurthest = 1e15;  // number of a point; beyond, a curve is taken to have ended
constexpr double kHuge = 1e12;      // bound of a parameter that has none
constexpr double kDeepest = 3;      // a floor is at most that far below base, in ranges
constexpr double kFurthestOrigin =
    4;  // in lengths of the window: further back the terms of a polynomial coincide
constexpr double kSmallest = 1e-9;  // of the constant term of a denominator
constexpr double kSmallestRange = 1e-290;

// Three levels along the window, spikes removed by the medians.
struct Shape {
  double x1, x2, x3, y1, y2, y3;
};

double middle(double a, double b, double c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

Shape shape_of(const FitProblem& d) {
  const std::size_t n = d.x.size(), mid = (n - 3) / 2;
  const auto level = [&](std::size_t from) { return middle(d.y[from], d.y[from + 1], d.y[from + 2]); };
  return {d.x[1], d.x[mid + 1], d.x[n - 2], level(0), level(mid), level(n - 3)};
}

Eigen::Vector3d exponential_start(const Shape& at) {
  const double early = (at.y1 - at.y2) / (at.x2 - at.x1), late = (at.y2 - at.y3) / (at.x3 - at.x2);
  const double between = 0.5 * (at.x3 - at.x1);
  double rate = early > 0 && late > 0 ? std::log(early / late) / between : 1 / between;
  rate = std::clamp(std::isfinite(rate) ? rate : 1 / between, 0.05 / between, 20 / between);
  const double fall = std::max(at.y1 - at.y3, 1e-3);
  const double amplitude = std::max(fall / std::expm1(rate * (at.x3 - at.x1)), 1e-9);
  return {std::log(amplitude) + rate * at.x3, rate, at.y3 - amplitude};
}

// For a given floor d, 1/(y - d) is a polynomial in x: linear least squares, weighted back to residuals of y.
// The floor that leaves the least is where the solver starts; from elsewhere it follows a long curved valley.
constexpr std::array kFloors{0.05, 0.4, 2.0};  // below the newest level, in units of the fall over the window

template <int Terms>
Eigen::Matrix<double, Terms + 1, 1> rational_start(const FitProblem& d, const Shape& at, double lowest) {
  const double fall = std::max(std::abs(at.y1 - at.y3), 1e-2);
  Eigen::Matrix<double, Terms + 1, 1> best;
  best.setZero();
  best[Terms - 1] = 1;
  best[Terms] = at.y3 - 1;
  double least = std::numeric_limits<double>::infinity();
  for (const double share : kFloors) {
    const double floor = std::max(at.y3 - share * fall, lowest);
    double m[5] = {}, r[3] = {};  // moments: sums of weight * x^i, and of weight * x^i / (y - floor)
    for (std::size_t i = 0; i < d.x.size(); ++i) {
      const double x = d.x[i], above = std::max(d.y[i] - floor, 1e-3 * fall);
      double w = d.weights[i] * above * above * above, v = w * above;
      for (int j = 0; j < Terms; ++j, w *= x) r[j] += w;
      for (int j = 0; j < 2 * Terms - 1; ++j, v *= x) m[j] += v;
    }
    Eigen::Matrix<double, Terms, Terms> a;
    Eigen::Matrix<double, Terms, 1> b;
    for (int row = 0; row < Terms; ++row) {  // highest power first, as in the models
      b[row] = r[Terms - 1 - row];
      for (int column = 0; column < Terms; ++column) a(row, column) = m[2 * Terms - 2 - row - column];
    }
    a.diagonal().array() *= 1 + 1e-12;
    Eigen::Matrix<double, Terms, 1> c = a.inverse() * b;
    if (!c.allFinite()) continue;
    c = c.cwiseMax(0);
    c[Terms - 1] = std::max(c[Terms - 1], 1e-6);
    double cost = 0;
    for (std::size_t i = 0; i < d.x.size(); ++i) {
      double q = c[0];
      for (int j = 1; j < Terms; ++j) q = q * d.x[i] + c[j];
      const double residual = 1 / q + floor - d.y[i];
      cost += d.weights[i] * residual * residual;
    }
    if (!(cost < least)) continue;
    least = cost;
    best << c, floor;
  }
  return best;
}

template <class Model>
FamilyFit run(const FitProblem& problem, const Eigen::Vector4d& start, const SolveOptions& options) {
  constexpr int n = Model::kParameters;
  const Model model;
  LeastSquares<Model> solver(model, problem.lower.head<n>(), problem.upper.head<n>());
  typename Model::Vector p = start.head<n>();
  const SolveSummary summary = solver.solve(problem.x, problem.y, problem.weight(), p, options);
  FamilyFit fit;
  fit.usable = summary.usable;
  fit.cost = summary.cost;
  fit.p.head<n>() = p;
  return fit;
}

void weigh(const ScaledWindow& window, const FitRange& range, FitProblem& problem, std::size_t from) {
  double weight = 1;
  for (std::size_t i = problem.x.size(); i-- > 0;) {
    problem.weights[i] = weight;
    if (i == 0) break;
    const double step = window.k[from + i] - window.k[from + i - 1];
    weight *= std::abs(step - 1) < 1e-6 ? range.decay : std::pow(range.decay, step);
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

FitProblem problem_of(Family family, const ScaledWindow& window, const FitRange& range, bool guess) {
  const std::size_t end = std::min(range.end, window.count), n = std::min(range.length, end);
  FitProblem problem;
  if (n < kFewest) return problem;
  const auto& x = family == Family::power ? window.log_k : window.t;
  problem.x = {x.data() + end - n, n};
  problem.y = {window.y.data() + end - n, n};
  weigh(window, range, problem, end - n);
  problem.lower.setZero();
  problem.upper.setConstant(kHuge);
  problem.start.setZero();
  switch (family) {
    case Family::sublinear:
      problem.parameters = Sublinear::kParameters;
      problem.lower[2] = kSmallest;
      if (guess) problem.start = rational_start<3>(problem, shape_of(problem), window.lowest);
      break;
    case Family::hyperbola:
      problem.parameters = Hyperbola::kParameters;
      problem.lower[1] = kSmallest;
      if (guess) problem.start.head<3>() = rational_start<2>(problem, shape_of(problem), window.lowest);
      break;
    case Family::exponential:
    case Family::power:
      problem.parameters = Exponential::kParameters;
      problem.lower[0] = -kHuge;
      problem.upper[0] = 300;
      if (guess) problem.start.head<3>() = exponential_start(shape_of(problem));
      break;
  }
  problem.lower[problem.parameters - 1] = window.lowest;
  problem.upper[problem.parameters - 1] = 1;
  return problem;
}

FamilyFit fit_family(Family family, const ScaledWindow& window, const FitRange& range, const FamilyFit* start,
                     const SolveOptions& options) {
  const bool warm = start != nullptr && start->usable;
  const FitProblem problem = problem_of(family, window, range, !warm);
  if (problem.parameters == 0) return {};
  const Eigen::Vector4d& p = warm ? start->p : problem.start;
  FamilyFit fit;
  switch (family) {
    case Family::sublinear:
      fit = run<Sublinear>(problem, p, options);
      break;
    case Family::hyperbola:
      fit = run<Hyperbola>(problem, p, options);
      break;
    case Family::exponential:
    case Family::power:
      fit = run<Exponential>(problem, p, options);
      break;
  }
  const double last = window.k[std::min(range.end, window.count) - 1];
  fit.usable = fit.usable && std::isfinite(value_at(family, window.frame, fit, last)) &&
               std::isfinite(value_at(family, window.frame, fit, kFurthest));
  return fit;
}

}  // namespace mlq
