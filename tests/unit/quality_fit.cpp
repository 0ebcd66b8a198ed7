// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmath>

#include "core/quality/family_fit.hpp"
#include "core/quality/least_squares.hpp"
#include "core/quality/models.hpp"
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

template <class Model>
void check_jacobian(const typename Model::Vector& p, double x) {
  const Model model;
  typename Model::Vector jacobian, unused;
  model(x, p, jacobian);
  for (int i = 0; i < Model::kParameters; ++i) {
    typename Model::Vector up = p, down = p;
    const double e = 1e-6 * std::max(std::abs(p[i]), 1.0);
    up[i] += e;
    down[i] -= e;
    const double numeric = (model(x, up, unused) - model(x, down, unused)) / (2 * e);
    ck_assert_double_eq_tol(jacobian[i], numeric, 1e-5 * std::max(1.0, std::abs(numeric)));
  }
}

}  // namespace

START_TEST(jacobians_match_differences) {
  check_jacobian<Sublinear>({0.3, 0.7, 1.1, 0.2}, 0.6);
  check_jacobian<Hyperbola>({0.7, 1.1, 0.2}, 0.6);
  check_jacobian<Exponential>({0.4, 2.5, 0.1}, 0.6);
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
  tcase_add_test(c, jacobians_match_differences);
  tcase_add_test(c, an_exponential_is_recovered);
  tcase_add_test(c, a_sublinear_curve_is_recovered);
  tcase_add_test(c, a_hyperbola_and_a_power_law_are_recovered);
  tcase_add_test(c, weights_forget_what_was_long_ago);
  tcase_add_test(c, a_warm_start_ends_where_a_cold_one_does);
  tcase_add_test(c, bounds_hold);
  tcase_add_test(c, nothing_usable_from_too_little);
  return c;
}
