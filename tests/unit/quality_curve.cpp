// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmath>
#include <limits>
#include <random>

#include "core/quality/curve.hpp"
#include "core/quality/horizon.hpp"
#include "tests/unit/quality_suites.hpp"

using namespace mlq;

namespace {

template <class Curve>
LossCurve curve_of(int n, Curve curve, CurveOptions options = {}, double spacing = 1) {
  LossCurve out(options);
  for (int k = 1; k <= n; ++k) out.add({k * spacing, curve(k), static_cast<double>(k), 1});
  out.refit();
  return out;
}

void check_finite(const LossCurve& curve) {
  for (const double h : {-1.0, 0.0, 0.3, 1.0, 10.0, 1e6, 1e300, HUGE_VAL, std::nan("")}) {
    const Forecast f = curve.forecast(h);
    ck_assert(std::isfinite(f.now) && std::isfinite(f.predicted));
    ck_assert(std::isfinite(f.lower) && std::isfinite(f.upper));
    ck_assert_double_le(f.lower, f.predicted);
    ck_assert_double_ge(f.upper, f.predicted);
    const double gain = curve.gain(h);
    ck_assert(gain >= 0 && gain <= 1);
  }
  ck_assert(curve.fraction_reached() >= 0 && curve.fraction_reached() <= 1);
}

}  // namespace

START_TEST(the_horizon_table_interpolates) {
  HorizonTable table;
  for (std::size_t i = 0; i < HorizonTable::kSize; ++i) table[i] = 3 * HorizonTable::horizon(i) + 1;
  for (double h = 0; h < HorizonTable::kFurthest; h = h * 1.1 + 0.1)
    ck_assert_double_eq_tol(table.at(h), 3 * h + 1, 1e-9 * (h + 1));
  ck_assert_double_eq(table.at(2 * HorizonTable::kFurthest), 3 * HorizonTable::kFurthest + 1);
  ck_assert_double_eq(table.at(std::nan("")), 1);
  ck_assert_double_eq(table.at(-5), 1);
}
END_TEST

START_TEST(smooth_curves_are_foreseen) {
  const auto sub = [](double k) { return 1 / (0.01 * k * k + 0.1 * k + 0.2) + 2; };
  const LossCurve a = curve_of(50, sub);
  ck_assert_double_eq_tol(a.forecast(10).predicted, sub(60), 2e-3);
  ck_assert_double_eq_tol(a.forecast(0).now, sub(50), 5e-3);
  const auto fast = [](double k) { return 5 * std::pow(0.95, k) + 1; };
  const LossCurve b = curve_of(50, fast);
  ck_assert_double_eq_tol(b.forecast(10).predicted, fast(60), 5e-3);
  ck_assert_int_eq(static_cast<int>(b.verdict()), static_cast<int>(Verdict::improving));
}
END_TEST

START_TEST(the_horizon_is_in_iterations_not_in_reports) {
  const auto fast = [](double k) { return 5 * std::pow(0.95, k) + 1; };
  const LossCurve curve = curve_of(50, fast, {}, 20);  // one report each 20 iterations
  ck_assert_double_eq_tol(curve.forecast(200).predicted, fast(60), 5e-3);
}
END_TEST

START_TEST(gain_never_falls_with_the_horizon) {
  std::mt19937 random(7);
  std::normal_distribution<double> gauss;
  for (int round = 0; round < 50; ++round) {
    const double noise = 0.02 * round;
    const LossCurve curve =
        curve_of(20 + 3 * round, [&](double k) { return 3 / std::sqrt(k) + noise * gauss(random); });
    double before = curve.gain(0);
    ck_assert_double_eq(before, 0);
    for (double h = 0.1; h < 1e5; h *= 1.3) {
      const double gain = curve.gain(h);
      ck_assert_double_ge(gain, before);
      before = gain;
    }
    check_finite(curve);
  }
}
END_TEST

START_TEST(gain_is_a_share_of_what_can_be_reached) {
  const auto fast = [](double k) { return 8 * std::pow(0.95, k) + 2; };
  const LossCurve curve = curve_of(30, fast);
  const double first = fast(1) - 2, left = fast(30) - 2;
  ck_assert_double_eq_tol(curve.fraction_reached(), 1 - left / first, 0.01);
  ck_assert_double_eq_tol(curve.gain(10), (fast(30) - fast(40)) / first, 0.01);
  // the same curve in other units, reported half as often, gains the same
  const LossCurve other = curve_of(
      30, [&](double k) { return 1e6 * fast(k); }, {}, 2);
  ck_assert_double_eq_tol(other.gain(20), curve.gain(10), 1e-6);
}
END_TEST

START_TEST(a_target_bounds_the_gain) {
  CurveOptions options;
  options.has_target_loss = true;
  options.target_loss = 3;
  const auto fast = [](double k) { return 8 * std::pow(0.95, k) + 2; };
  const LossCurve curve = curve_of(30, fast, options);
  const double reachable = fast(1) - 3;
  ck_assert_double_eq_tol(curve.fraction_reached(), (fast(1) - fast(30)) / reachable, 0.01);
  ck_assert_double_eq_tol(curve.gain(1e6), (fast(30) - 3) / reachable, 0.01);
  const LossCurve done = curve_of(60, fast, options);
  ck_assert_double_eq(done.gain(100), 0);
  ck_assert_double_eq(done.fraction_reached(), 1);
}
END_TEST

START_TEST(slaq_divides_by_the_largest_drop) {
  CurveOptions options;
  options.normalisation = Normalisation::slaq;
  const auto fast = [](double k) { return 8 * std::pow(0.95, k) + 2; };
  const LossCurve curve = curve_of(30, fast, options);
  ck_assert_double_eq_tol(curve.gain(10), (fast(30) - fast(40)) / (fast(1) - fast(2)), 0.02);
  const LossCurve rising = curve_of(
      30, [](double k) { return k; }, options);
  ck_assert_double_eq(rising.gain(10), 0);
}
END_TEST

START_TEST(a_maximised_metric_comes_back_in_its_own_units) {
  CurveOptions options;
  options.goal = Goal::max;
  const auto accuracy = [](double k) { return 0.9 - 0.8 * std::pow(0.95, k); };
  const LossCurve curve = curve_of(40, accuracy, options);
  ck_assert_double_eq_tol(curve.forecast(10).predicted, accuracy(50), 2e-3);
  ck_assert_double_eq(curve.best_loss(), accuracy(40));
  ck_assert_double_gt(curve.gain(10), 0.05);
  check_finite(curve);
}
END_TEST

START_TEST(verdicts_name_what_is_seen) {
  const auto verdict = [](const LossCurve& c) { return static_cast<int>(c.verdict()); };
  ck_assert_int_eq(verdict(curve_of(3, [](double k) { return 1 / k; })), static_cast<int>(Verdict::no_data));
  ck_assert_int_eq(verdict(curve_of(30, [](double) { return 0.5; })), static_cast<int>(Verdict::constant));
  LossCurve dead = curve_of(30, [](double k) { return 1 / k; });
  dead.add({31, std::nan(""), 31, 1});
  dead.refit();
  ck_assert_int_eq(verdict(dead), static_cast<int>(Verdict::diverged));
  ck_assert_double_eq(dead.gain(100), 0);
  check_finite(dead);
  // a log in which every other row holds another metric is not divergence
  const LossCurve sparse = curve_of(60, [](double k) { return std::fmod(k, 3) == 0 ? 5 / k : std::nan(""); });
  ck_assert_int_eq(verdict(sparse), static_cast<int>(Verdict::improving));
  const LossCurve rising = curve_of(40, [](double k) { return 0.1 * k; });
  ck_assert_int_eq(verdict(rising), static_cast<int>(Verdict::rising));
  ck_assert_double_eq(rising.gain(10), 0);
}
END_TEST

// Gaps between iterations whose inverse is infinite, denormal or huge.
START_TEST(any_spacing_of_reports_is_borne) {
  for (const double spacing : {5e-324, 1e-310, 1e-200, 1e-12, 1e-6, 0.01, 1e3, 1e15}) {
    const LossCurve curve = curve_of(
        30, [](int k) { return 1.0 / k; }, {}, spacing);
    check_finite(curve);
    ck_assert(curve.spacing() > 0 && std::isfinite(curve.spacing()));
  }
}
END_TEST

START_TEST(nothing_but_numbers_comes_out) {
  const double poison[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e308, -1e308, 1e149, -1e149, 1e-320, 0,
                           -0.0,         1,        1e-150,    5e150, 7,      7,     7};
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    LossCurve curve;
    check_finite(curve);
    double iteration = round % 7 == 0 ? -1e18 : 0;
    for (int i = 0; i < 60; ++i) {
      iteration += std::ldexp(1.0, static_cast<int>(random() % (round % 5 == 0 ? 60 : 3))) -
                   (random() % 11 == 0 ? 9 : 0);
      const double loss = random() % 3 == 0 ? poison[random() % 16] : (random() % 1000) * 1e-3;
      curve.add({iteration, loss, 0, 0});
      if (i % 9 == 0) {
        curve.refit();
        check_finite(curve);
      }
    }
    curve.refit();
    check_finite(curve);
  }
}
END_TEST

TCase* quality_curve_case() {
  TCase* c = tcase_create("curve");
  tcase_add_test(c, the_horizon_table_interpolates);
  tcase_add_test(c, smooth_curves_are_foreseen);
  tcase_add_test(c, the_horizon_is_in_iterations_not_in_reports);
  tcase_add_test(c, gain_never_falls_with_the_horizon);
  tcase_add_test(c, gain_is_a_share_of_what_can_be_reached);
  tcase_add_test(c, a_target_bounds_the_gain);
  tcase_add_test(c, slaq_divides_by_the_largest_drop);
  tcase_add_test(c, a_maximised_metric_comes_back_in_its_own_units);
  tcase_add_test(c, verdicts_name_what_is_seen);
  tcase_add_test(c, any_spacing_of_reports_is_borne);
  tcase_add_test(c, nothing_but_numbers_comes_out);
  return c;
}
