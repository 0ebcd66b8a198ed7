// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>
#include <cmath>
#include <vector>

#include "core/quality/family_fit.hpp"
#include "core/quality/least_squares.hpp"
#include "core/quality/models.hpp"
#include "tests/unit/quality_suites.hpp"

using namespace mlq;

namespace {

struct Data {
  std::vector<double> x, y, weight;
};

// k = 1..n, positions relative to the newest.
template <class Curve>
Data sample(int n, Curve curve, double decay = 1) {
  Data data;
  for (int k = 1; k <= n; ++k) {
    data.x.push_back(k - n);
    data.y.push_back(curve(k));
    data.weight.push_back(std::pow(decay, 2 * (n - k)));
  }
  return data;
}

FamilyFit fitted(Family family, const Data& data) {
  const Frame frame = frame_of(data.x, data.y, static_cast<double>(data.x.size()));
  return fit_family(family, frame, data.x, data.y, data.weight);
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
  const Data data = sample(
      40, [](double k) { return std::pow(0.9, k - 20) + 0.7; }, 0.9);
  const FamilyFit fit = fitted(Family::exponential, data);
  ck_assert(fit.usable);
  ck_assert_double_eq_tol(fit.floor(), 0.7, 1e-5);
  ck_assert_double_eq_tol(std::exp(-fit.p[1] / fit.frame.origin), 0.9, 1e-5);
  ck_assert_double_eq_tol(fit.value(10), std::pow(0.9, 30) + 0.7, 1e-5);
}
END_TEST

START_TEST(a_sublinear_curve_is_recovered) {
  const auto curve = [](double k) { return 1 / (0.002 * k * k + 0.05 * k + 0.4) + 3; };
  const FamilyFit fit = fitted(Family::sublinear, sample(40, curve, 0.95));
  ck_assert(fit.usable);
  ck_assert_double_eq_tol(fit.floor(), 3, 0.3);
  ck_assert_double_eq_tol(fit.value(10), curve(50), 1e-3);
  ck_assert_double_eq_tol(fit.value(-39), curve(1), 1e-2);
}
END_TEST

START_TEST(a_hyperbola_and_a_power_law_are_recovered) {
  const auto hyperbola = [](double k) { return 1 / (0.05 * k + 0.4) - 2; };
  const FamilyFit h = fitted(Family::hyperbola, sample(60, hyperbola));
  ck_assert_double_eq_tol(h.floor(), -2, 1e-4);
  ck_assert_double_eq_tol(h.value(60), hyperbola(120), 1e-4);
  const auto power = [](double k) { return 8 * std::pow(k, -0.5) + 1; };
  const FamilyFit p = fitted(Family::power, sample(60, power));
  ck_assert_double_eq_tol(p.p[1], 0.5, 1e-3);
  ck_assert_double_eq_tol(p.floor(), 1, 1e-2);
  ck_assert_double_eq_tol(p.value(60), power(120), 1e-3);
}
END_TEST

START_TEST(weights_forget_what_was_long_ago) {
  // a drop of the learning rate at k = 20: the newest 20 points alone are a clean exponential
  const auto curve = [](double k) { return k < 20 ? 50 - k : 10 * std::pow(0.9, k - 20) + 5; };
  const FamilyFit fit = fitted(Family::exponential, sample(40, curve, 0.6));
  ck_assert_double_eq_tol(fit.value(10), curve(50), 0.05);
}
END_TEST

START_TEST(bounds_hold) {
  // rising data: no family may rise, and the floor stays below the data
  const Data data = sample(30, [](double k) { return k; });
  for (const Family family : {Family::sublinear, Family::hyperbola, Family::exponential, Family::power}) {
    const FamilyFit fit = fitted(family, data);
    if (!fit.usable) continue;
    ck_assert_double_le(fit.value(10), fit.value(0) + 1e-9);
    ck_assert(std::isfinite(fit.cost));
  }
}
END_TEST

START_TEST(nothing_usable_from_too_little) {
  ck_assert(!fitted(Family::exponential, sample(4, [](double k) { return 1 / k; })).usable);
  ck_assert(!fitted(Family::exponential, sample(30, [](double) { return 2.0; })).usable);
}
END_TEST

TCase* quality_fit_case() {
  TCase* c = tcase_create("fit");
  tcase_add_test(c, jacobians_match_differences);
  tcase_add_test(c, an_exponential_is_recovered);
  tcase_add_test(c, a_sublinear_curve_is_recovered);
  tcase_add_test(c, a_hyperbola_and_a_power_law_are_recovered);
  tcase_add_test(c, weights_forget_what_was_long_ago);
  tcase_add_test(c, bounds_hold);
  tcase_add_test(c, nothing_usable_from_too_little);
  return c;
}
