// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>
#include <cmath>

#include "core/quality/family_fit.hpp"
#include "core/quality/models.hpp"
#include "core/quality/separable_fit.hpp"
#include "core/quality/window.hpp"
#include "tests/unit/quality_suites.hpp"

using namespace mlq;

namespace {

constexpr SolveOptions kExact{200, 1e-12, 1e-3};

struct Fitted {
  Family family;
  ScaledWindow scaled;
  FamilyFit fit;
  double value(double k) const {
    return scaled.frame.base + scaled.frame.scale * value_at(family, scaled.frame, fit, k);
  }
  double floor() const { return scaled.frame.base + scaled.frame.scale * floor_of(family, fit); }
};

// The curve at k = 1..n.
template <class Curve>
Window window_of(int n, Curve curve) {
  Window window;
  window.age = n;
  window.count = static_cast<std::size_t>(n);
  for (int k = 1; k <= n; ++k) {
    window.x[static_cast<std::size_t>(k - 1)] = k - n;
    window.y[static_cast<std::size_t>(k - 1)] = curve(k);
  }
  return window;
}

Fitted fitted(Family family, const Window& window, double decay = 1) {
  Fitted out{family, scale(window), {}};
  out.fit = fit_family(family, out.scaled, {window.count, window.count, decay}, nullptr, kExact);
  return out;
}

constexpr std::size_t kPoints = 12;
using Values = std::array<double, kPoints>;

constexpr std::array kXs{0.3, 0.35, 0.4, 0.47, 0.5, 0.58, 0.65, 0.7, 0.8, 0.85, 0.95, 1.0};

template <class Shape>
void check_derivatives(const Shape& shape, const typename Shape::Vector& p) {
  Values less_1, up_1, down_1;
  std::array<Values, Shape::kParameters> slopes, unused;
  const auto evaluate = [&](const typename Shape::Vector& at, Values& out, auto& by) {
    std::array<std::span<double>, Shape::kParameters> spans;
    for (std::size_t j = 0; j < spans.size(); ++j) spans[j] = by[j];
    shape.evaluate(kXs, at, out, spans);
  };
  evaluate(p, less_1, slopes);
  ck_assert_double_eq_tol(less_1.back(), 0, 1e-12);  // the reference
  for (std::size_t j = 0; j < slopes.size(); ++j) {
    typename Shape::Vector up = p, down = p;
    up[static_cast<int>(j)] += 1e-6;
    down[static_cast<int>(j)] -= 1e-6;
    evaluate(up, up_1, unused);
    evaluate(down, down_1, unused);
    for (std::size_t i = 0; i < kPoints; ++i)
      ck_assert_double_eq_tol(slopes[j][i], (up_1[i] - down_1[i]) / 2e-6,
                              1e-6 * std::max(1.0, std::abs(slopes[j][i])));
  }
}

// The gradient of the projected cost against differences of the cost, with the floor free or at `lowest`.
template <class Shape>
void check_gradient(const Shape& shape, const typename Shape::Vector& p, double lowest) {
  Values y, weight;
  for (std::size_t i = 0; i < kPoints; ++i) {
    y[i] = 1 / (kXs[i] + 0.2) - 0.6 + 0.05 * std::sin(40 * kXs[i]);
    weight[i] = std::pow(0.9, static_cast<double>(kPoints - i));
  }
  SeparableFit<Shape, kPoints> fit(shape, kXs, y, weight, lowest, 1);
  const auto at = fit.at(p);
  ck_assert(at.usable() && at.amplitude > 0 && at.floor >= lowest);
  for (int j = 0; j < Shape::kParameters; ++j) {
    typename Shape::Vector up = p, down = p;
    up[j] += 1e-6;
    down[j] -= 1e-6;
    const double numeric = (fit.at(up).cost - fit.at(down).cost) / 4e-6;  // of cost / 2
    ck_assert_double_eq_tol(at.gradient[j], numeric, 1e-6 + 1e-4 * std::abs(numeric));
    ck_assert_double_gt(at.hessian(j, j), 0);
  }
}

// Three unlike windows: noisy, falling in stairs, concave.
double noisy(double k) {
  return 1 / (0.01 * k * k + 0.03 * k + 0.5) + 0.05 * std::sin(17 * k);
}
double stairs(double k) {
  return 3 - std::floor(k / 13) + 0.02 * std::cos(5 * k);
}
double concave(double k) {
  return 1600 - k * k;
}

}  // namespace

START_TEST(derivatives_match_differences) {
  check_derivatives(SublinearShape{}, {0.8, 0.3});
  check_derivatives(HyperbolaShape{}, HyperbolaShape::Vector(0.7));
  check_derivatives(ExponentialShape{}, ExponentialShape::Vector(1.2));
  for (const double lowest : {-3.0, 0.2}) {  // the second is where the floor would go below
    check_gradient(SublinearShape{}, {0.8, 0.3}, lowest);
    check_gradient(HyperbolaShape{}, HyperbolaShape::Vector(0.7), lowest);
    check_gradient(ExponentialShape{}, ExponentialShape::Vector(1.2), lowest);
  }
}
END_TEST

START_TEST(even_steps_change_no_exponential) {
  Values xs, even, uneven, by_even, by_uneven;
  for (std::size_t i = 0; i < kPoints; ++i) xs[i] = 0.3 + 0.05 * static_cast<double>(i);
  for (const double log_rate : {-2.0, 1.0, 3.5, 6.0, 8.0}) {
    const ExponentialShape::Vector p(log_rate);
    ExponentialShape{true}.evaluate(xs, p, even, {std::span<double>(by_even)});
    ExponentialShape{false}.evaluate(xs, p, uneven, {std::span<double>(by_uneven)});
    for (std::size_t i = 0; i < kPoints; ++i) {
      ck_assert_double_eq_tol(even[i], uneven[i], 1e-9 * (1 + std::abs(uneven[i])));
      ck_assert_double_eq_tol(by_even[i], by_uneven[i], 1e-9 * (1 + std::abs(by_uneven[i])));
    }
  }
}
END_TEST

// No point of a fine grid over all shapes, each with its best floor and amplitude, is better than the fit.
START_TEST(no_other_curve_fits_better) {
  for (const auto curve : {noisy, stairs, concave}) {
    const ScaledWindow scaled = scale(window_of(40, curve));
    const FitRange range{40, 40, 0.9};
    const FitProblem problem = problem_of(Family::sublinear, scaled, range);
    SeparableFit<SublinearShape, Window::kCapacity> rational({}, problem.x, problem.y, problem.weight(),
                                                             problem.lowest, problem.highest);
    SeparableFit<ExponentialShape, Window::kCapacity> exponential({}, problem.x, problem.y, problem.weight(),
                                                                  problem.lowest, problem.highest);
    double least_sublinear = HUGE_VAL, least_hyperbola = HUGE_VAL, least_exponential = HUGE_VAL;
    for (int i = 0; i <= 200; ++i) {
      const double u = 1 / (1 + std::pow(10.0, 0.04 * i - 5));
      least_hyperbola = std::min(least_hyperbola, rational.at({u, 0}).cost);
      for (int j = 0; j <= 20; ++j)
        least_sublinear = std::min(least_sublinear, rational.at({u, 0.05 * j}).cost);
      const ExponentialShape::Vector rate(0.05 * i - 4);
      least_exponential = std::min(least_exponential, exponential.at(rate).cost);
    }
    const auto cost = [&](Family family) { return fit_family(family, scaled, range, nullptr, kExact).cost; };
    ck_assert_double_le(cost(Family::sublinear), 1.001 * least_sublinear + 1e-12);
    ck_assert_double_le(cost(Family::hyperbola), 1.001 * least_hyperbola + 1e-12);
    ck_assert_double_le(cost(Family::exponential), 1.001 * least_exponential + 1e-12);
  }
}
END_TEST

START_TEST(an_exponential_is_recovered) {
  // mu^(k-b) + c with mu = 0.9, b = 20, c = 0.7
  const Fitted fit =
      fitted(Family::exponential, window_of(40, [](double k) { return std::pow(0.9, k - 20) + 0.7; }), 0.9);
  ck_assert(fit.fit.usable);
  ck_assert_double_eq_tol(fit.floor(), 0.7, 1e-6);
  ck_assert_double_eq_tol(std::exp(-fit.fit.p[1] / fit.scaled.frame.origin), 0.9, 1e-6);
  ck_assert_double_eq_tol(fit.value(50), std::pow(0.9, 30) + 0.7, 1e-6);
}
END_TEST

START_TEST(a_sublinear_curve_is_recovered) {
  const auto curve = [](double k) { return 1 / (0.002 * k * k + 0.05 * k + 0.4) + 3; };
  const Fitted fit = fitted(Family::sublinear, window_of(40, curve), 0.95);
  ck_assert(fit.fit.usable);
  const Frame& f = fit.scaled.frame;  // y' = 1/(a t^2 + b t + c) + d, with t = k/origin here
  ck_assert_double_eq(f.shift, 0);
  ck_assert_double_eq_tol(fit.fit.p[0] / (f.scale * f.origin * f.origin), 0.002, 1e-6);
  ck_assert_double_eq_tol(fit.fit.p[1] / (f.scale * f.origin), 0.05, 1e-5);
  ck_assert_double_eq_tol(fit.fit.p[2] / f.scale, 0.4, 1e-5);
  ck_assert_double_eq_tol(fit.floor(), 3, 1e-4);
  ck_assert_double_eq_tol(fit.value(80), curve(80), 1e-5);
}
END_TEST

START_TEST(a_hyperbola_and_a_power_law_are_recovered) {
  const auto hyperbola = [](double k) { return 1 / (0.05 * k + 0.4) - 2; };
  const Fitted h = fitted(Family::hyperbola, window_of(45, hyperbola));
  ck_assert_double_eq_tol(h.floor(), -2, 1e-5);
  ck_assert_double_eq_tol(h.value(120), hyperbola(120), 1e-5);
  const auto power = [](double k) { return 8 * std::pow(k, -0.5) + 1; };
  const Fitted p = fitted(Family::power, window_of(45, power));
  ck_assert_double_eq_tol(p.fit.p[1], 0.5, 1e-5);
  ck_assert_double_eq_tol(p.floor(), 1, 1e-4);
  ck_assert_double_eq_tol(p.value(120), power(120), 1e-4);
}
END_TEST

START_TEST(weights_forget_what_was_long_ago) {
  // a drop of the learning rate at k = 20: the newest 20 points alone are a clean exponential
  const auto curve = [](double k) { return k < 20 ? 50 - k : 10 * std::pow(0.9, k - 20) + 5; };
  ck_assert_double_eq_tol(fitted(Family::exponential, window_of(40, curve), 0.36).value(50), curve(50), 0.05);
}
END_TEST

START_TEST(a_warm_start_ends_where_a_cold_one_does) {
  const auto curve = [](double k) {
    return 1 / (0.002 * k * k + 0.05 * k + 0.4) + 3 + 0.01 * std::sin(9 * k);
  };
  const ScaledWindow before = scale(window_of(40, curve));
  const ScaledWindow after = scale(window_of(41, curve), &before.frame);
  ck_assert(after.frame == before.frame);
  for (const Family family : kFamilies) {
    const FamilyFit last = fit_family(family, before, {40, 30, 0.9}, nullptr, kExact);
    const FamilyFit warm = fit_family(family, after, {41, 30, 0.9}, &last, kExact);
    const FamilyFit cold = fit_family(family, after, {41, 30, 0.9}, nullptr, kExact);
    ck_assert(last.usable && warm.usable && cold.usable);
    ck_assert_double_eq_tol(warm.cost, cold.cost, 1e-4 * cold.cost);
  }
}
END_TEST

START_TEST(bounds_hold) {
  // rising data: no family may rise
  const Window window = window_of(30, [](double k) { return k; });
  for (const Family family : kFamilies) {
    const Fitted fit = fitted(family, window);
    if (!fit.fit.usable) continue;
    ck_assert_double_le(fit.value(40), fit.value(30) + 1e-9);
    ck_assert(std::isfinite(fit.fit.cost));
  }
  // a loss that was never negative has no negative floor
  Window falling = window_of(30, [](double k) { return 40 - k; });
  falling.nonnegative = true;
  for (const Family family : kFamilies) ck_assert_double_ge(fitted(family, falling).floor(), -1e-9);
}
END_TEST

START_TEST(nothing_usable_from_too_little) {
  ck_assert(!fitted(Family::exponential, window_of(4, [](double k) { return 1 / k; })).fit.usable);
  ck_assert_uint_eq(scale(window_of(30, [](double) { return 2.0; })).count, 0);
}
END_TEST

TCase* quality_fit_case() {
  TCase* c = tcase_create("fit");
  tcase_add_test(c, derivatives_match_differences);
  tcase_add_test(c, even_steps_change_no_exponential);
  tcase_add_test(c, no_other_curve_fits_better);
  tcase_add_test(c, an_exponential_is_recovered);
  tcase_add_test(c, a_sublinear_curve_is_recovered);
  tcase_add_test(c, a_hyperbola_and_a_power_law_are_recovered);
  tcase_add_test(c, weights_forget_what_was_long_ago);
  tcase_add_test(c, a_warm_start_ends_where_a_cold_one_does);
  tcase_add_test(c, bounds_hold);
  tcase_add_test(c, nothing_usable_from_too_little);
  return c;
}
