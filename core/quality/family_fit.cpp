// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/family_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/quality/least_squares.hpp"
#include "core/quality/models.hpp"
#include "core/quality/window.hpp"

namespace mlq {
namespace {

constexpr std::size_t kFewest = 5;  // SLAQ 3.2: at least 5 losses before predicting
constexpr double kFarthest = 1e12;  // points; beyond, a curve is taken to have ended
constexpr double kHuge = 1e12;      // bound of a parameter that has none, in scaled units
constexpr double kDeepest = 3;      // a floor at most that many ranges below the window's least cost
constexpr double kFarthestOrigin =
    4;  // in lengths of the window: further back the terms of a polynomial coincide

struct Scaled {
  std::array<double, Window::kCapacity> x{}, y{};
  std::size_t count = 0;
  std::span<const double> xs() const { return {x.data(), count}; }
  std::span<const double> ys() const { return {y.data(), count}; }
};

double abscissa(Family family, const Frame& frame, double x) {
  const double t = std::max(1 + x / frame.origin, 1e-9);
  return family == Family::power ? std::log(t) : t;
}

Scaled scaled(Family family, const Frame& frame, std::span<const double> x, std::span<const double> y) {
  Scaled out;
  out.count = std::min(x.size(), out.x.size());
  const std::size_t from = x.size() - out.count;
  for (std::size_t i = 0; i < out.count; ++i) {
    out.x[i] = abscissa(family, frame, x[from + i]);
    out.y[i] = (y[from + i] - frame.base) / frame.scale;
  }
  return out;
}

// Three levels along the window, spikes removed by the medians.
struct Shape {
  double x1, x2, x3, y1, y2, y3;
};

Shape shape_of(const Scaled& s) {
  const std::size_t n = s.count;
  const auto level = [&](std::size_t from) {
    std::array<double, 3> v{s.y[from], s.y[from + 1], s.y[from + 2]};
    return median_of(v);
  };
  const std::size_t mid = (n - 3) / 2;
  return {s.x[1], s.x[mid + 1], s.x[n - 2], level(0), level(mid), level(n - 3)};
}

Eigen::Vector3d exponential_start(const Shape& at) {
  const double early = (at.y1 - at.y2) / (at.x2 - at.x1), late = (at.y2 - at.y3) / (at.x3 - at.x2);
  const double between = 0.5 * (at.x3 - at.x1);
  double rate = early > 0 && late > 0 ? std::log(early / late) / between : 1 / between;
  rate = std::clamp(std::isfinite(rate) ? rate : 1 / between, 0.05 / between, 20 / between);
  const double fall = std::max(at.y1 - at.y3, 1e-3);
  const double e1 = std::exp(-rate * (at.x1 - at.x3));
  const double amplitude = fall / std::max(1 / e1 > 0 ? std::expm1(rate * (at.x3 - at.x1)) : 1.0, 1e-6);
  return {std::log(std::max(amplitude, 1e-9)) + rate * at.x3, rate, at.y3 - amplitude};
}

// For a given floor d, 1/(y - d) is a polynomial in x: linear least squares, weighted back to residuals of y.
// The floor that leaves the least is where the solver starts; from elsewhere it follows a long curved valley.
constexpr std::array kFloors{0.02, 0.15, 0.5,
                             2.0};  // below the newest level, in units of the fall over the window

template <int Terms>
Eigen::Matrix<double, Terms + 1, 1> rational_start(const Scaled& data, std::span<const double> weight,
                                                   const Shape& at) {
  using Terms2 = Eigen::Matrix<double, Terms, Terms>;
  using Terms1 = Eigen::Matrix<double, Terms, 1>;
  const double fall = std::max(std::abs(at.y1 - at.y3), 1e-2);
  Eigen::Matrix<double, Terms + 1, 1> best;
  double least = std::numeric_limits<double>::infinity();
  for (const double share : kFloors) {
    const double floor = std::max(at.y3 - share * fall, -kDeepest);
    Terms2 a = 1e-12 * Terms2::Identity();
    Terms1 b = Terms1::Zero();
    for (std::size_t i = 0; i < data.count; ++i) {
      const double above = std::max(data.y[i] - floor, 1e-3 * fall), w = weight[i] * above * above;
      Terms1 row;  // highest power first, as in the models
      row[Terms - 1] = 1;
      for (int t = Terms - 2; t >= 0; --t) row[t] = row[t + 1] * data.x[i];
      a += (w * above * above) * row * row.transpose();
      b += (w * above) * row;
    }
    Terms1 c = a.inverse() * b;
    if (!c.allFinite()) continue;
    c = c.cwiseMax(0);
    c[Terms - 1] = std::max(c[Terms - 1], 1e-6);
    double cost = 0;
    for (std::size_t i = 0; i < data.count; ++i) {
      double q = c[0];
      for (int t = 1; t < Terms; ++t) q = q * data.x[i] + c[t];
      const double r = 1 / q + floor - data.y[i];
      cost += weight[i] * r * r;
    }
    if (!(cost < least)) continue;
    least = cost;
    best << c, floor;
  }
  if (!std::isfinite(least)) {
    best.setZero();
    best[Terms - 1] = 1;
    best[Terms] = at.y3 - 1;
  }
  return best;
}

template <class Model, int N = Model::kParameters>
void run(const Scaled& data, std::span<const double> weight, const Eigen::Matrix<double, N, 1>& lower,
         const Eigen::Matrix<double, N, 1>& upper, Eigen::Matrix<double, N, 1> p, FamilyFit& fit) {
  const Model model;
  LeastSquares<Model> solver(model, lower, upper);
  const SolveSummary summary = solver.solve(data.xs(), data.ys(), weight.last(data.count), p);
  fit.usable = summary.usable;
  fit.cost = summary.cost;
  fit.p.template head<N>() = p;
}

double scaled_value(const FamilyFit& fit, double x) {
  switch (fit.family) {
    case Family::sublinear:
      return 1 / ((fit.p[0] * x + fit.p[1]) * x + fit.p[2]) + fit.p[3];
    case Family::hyperbola:
      return 1 / (fit.p[0] * x + fit.p[1]) + fit.p[2];
    case Family::exponential:
    case Family::power:
      return std::exp(std::min(fit.p[0] - fit.p[1] * x, 300.0)) + fit.p[2];
  }
  return 0;
}

}  // namespace

const char* name_of(Family family) noexcept {
  switch (family) {
    case Family::sublinear:
      return "sublinear";
    case Family::hyperbola:
      return "hyperbola";
    case Family::exponential:
      return "exponential";
    case Family::power:
      return "power";
  }
  return "";
}

double FamilyFit::value(double ahead) const {
  return frame.base +
         frame.scale * scaled_value(*this, abscissa(family, frame, std::clamp(ahead, -kFarthest, kFarthest)));
}

double FamilyFit::floor() const {
  return frame.base + frame.scale * (family == Family::sublinear ? p[3] : p[2]);
}

Frame frame_of(std::span<const double> x, std::span<const double> y, double age) {
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  const double length = std::max(x.back() - x.front(), 1.0);
  return {std::max(std::min(age, kFarthestOrigin * length), length + 1), *low, *high - *low};
}

FamilyFit fit_family(Family family, const Frame& frame, std::span<const double> x, std::span<const double> y,
                     std::span<const double> weight, const FamilyFit* start) {
  FamilyFit fit{family, frame, Eigen::Vector4d::Zero(), 0, false};
  if (x.size() < kFewest || !(frame.scale > 1e-290)) return fit;
  const Scaled data = scaled(family, frame, x, y);
  const Shape shape = shape_of(data);
  const bool warm = start != nullptr && start->usable && start->family == family;
  if (family == Family::sublinear) {
    const Eigen::Vector4d p = warm ? start->p : rational_start<3>(data, weight.last(data.count), shape);
    run<Sublinear>(data, weight, Eigen::Vector4d(0, 0, 1e-9, -kDeepest),
                   Eigen::Vector4d(kHuge, kHuge, kHuge, 1), p, fit);
  } else if (family == Family::hyperbola) {
    const Eigen::Vector3d p =
        warm ? Eigen::Vector3d(start->p.head<3>()) : rational_start<2>(data, weight.last(data.count), shape);
    run<Hyperbola>(data, weight, Eigen::Vector3d(0, 1e-9, -kDeepest), Eigen::Vector3d(kHuge, kHuge, 1), p,
                   fit);
  } else {
    const Eigen::Vector3d p = warm ? Eigen::Vector3d(start->p.head<3>()) : exponential_start(shape);
    run<Exponential>(data, weight, Eigen::Vector3d(-kHuge, 0, -kDeepest), Eigen::Vector3d(300, kHuge, 1), p,
                     fit);
  }
  fit.usable = fit.usable && std::isfinite(fit.value(0)) && std::isfinite(fit.value(kFarthest));
  return fit;
}

}  // namespace mlq
