// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmath>
#include <vector>

#include "core/quality/history.hpp"
#include "core/quality/window.hpp"
#include "tests/unit/quality_suites.hpp"

using mlq::History;

START_TEST(a_resumed_run_replaces_the_tail) {
  History history(100, false);
  for (int k = 1; k <= 10; ++k) ck_assert(history.add(k, 100 - k, k));
  ck_assert(history.add(7, 50, 11));  // 7..10 go
  ck_assert_uint_eq(history.size(), 7);
  ck_assert_double_eq(history.last_iteration(), 7);
  ck_assert_double_eq(history.cost(6), 50);
  ck_assert_double_eq(history.cost(5), 94);
  ck_assert_double_eq(history.best_cost(), 50);
  ck_assert(history.add(8, 60, 12));
  ck_assert(history.add(8, 55, 13));  // a repeated report takes the place of the first
  ck_assert_uint_eq(history.size(), 8);
  ck_assert_double_eq(history.last_cost(), 55);
  ck_assert(history.add(0.5, 99, 14));
  ck_assert_uint_eq(history.size(), 1);
  ck_assert_double_eq(history.first_cost(), 99);
  ck_assert_double_eq(history.best_cost(), 99);
}
END_TEST

START_TEST(bad_numbers_are_kept_out) {
  History history(100, false);
  ck_assert(!history.add(NAN, 1, 0));
  ck_assert(!history.add(INFINITY, 1, 0));
  ck_assert(!history.add(-1e19, 1, 0));
  ck_assert_uint_eq(history.size(), 0);
  ck_assert(!history.any());
  ck_assert(history.add(1, NAN, 0));
  ck_assert(!history.any());
  ck_assert(history.add(2, 5, 0));
  ck_assert(history.add(3, INFINITY, NAN));
  ck_assert(history.add(4, 1e151, 0));
  ck_assert_uint_eq(history.trailing_bad(), 2);
  ck_assert(history.add(5, 4, 7));
  ck_assert_uint_eq(history.trailing_bad(), 0);
  ck_assert_uint_eq(history.longest_inner_bad(), 2);
  ck_assert_double_eq(history.first_cost(), 5);
  ck_assert_double_eq(history.largest_drop(), 1);
  ck_assert_double_eq(history.last_time(), 7);
}
END_TEST

START_TEST(a_maximised_metric_is_negated) {
  History history(100, true);
  history.add(1, 0.5, 0);
  history.add(2, 0.8, 0);
  ck_assert_double_eq(history.first_cost(), -0.5);
  ck_assert_double_eq(history.best_cost(), -0.8);
  ck_assert_double_eq_tol(history.largest_drop(), 0.3, 1e-12);
}
END_TEST

START_TEST(old_points_are_thinned_never_the_first_or_the_newest) {
  History history(128, false);
  for (int k = 0; k < 100000; ++k) history.add(k, 1.0 / (k + 1), k);
  ck_assert_uint_le(history.size(), 128);
  ck_assert_uint_ge(history.size(), 64);
  ck_assert_double_eq(history.iteration(0), 0);
  for (std::size_t back = 0; back < 32; ++back)
    ck_assert_double_eq(history.iteration(history.size() - 1 - back), 99999.0 - static_cast<double>(back));
  for (std::size_t i = 1; i < history.size(); ++i) ck_assert(history.iteration(i) > history.iteration(i - 1));
}
END_TEST

START_TEST(a_window_counts_in_points_and_skips_missing_costs) {
  History history(1000, false);
  for (int k = 0; k <= 40; ++k) history.add(100 + 50 * k, k == 39 ? NAN : 10 - 0.1 * k, 0);
  history.add(100 + 50 * 41, NAN, 0);
  const mlq::Window window = mlq::newest(history);
  ck_assert_uint_eq(window.count, 40);
  ck_assert_double_eq(window.spacing, 50);
  ck_assert_double_eq(window.x[39], 0);
  ck_assert_double_eq(window.x[38], -2);  // the point between is missing
  ck_assert_double_eq(window.age, 41);
  ck_assert_double_eq(window.since, 1);
}
END_TEST

START_TEST(noise_is_seen_through_trend_and_spikes) {
  double values[64];
  unsigned seed = 1;
  for (int i = 0; i < 64; ++i) {
    double gauss = 0;
    for (int j = 0; j < 12; ++j) gauss += (seed = seed * 1664525u + 1013904223u) / 4294967296.0 - 0.5;
    values[i] = 100 - 2 * i + 0.5 * gauss;
  }
  values[20] += 1000;
  const double noise = mlq::noise_of(values);
  ck_assert_double_ge(noise, 0.3);
  ck_assert_double_le(noise, 0.75);
}
END_TEST

namespace {

std::size_t start_of(int n, double (*curve)(int)) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) values.push_back(curve(i));
  return mlq::segment_start(values, 7);
}

double wobble(int i) {
  return 0.01 * std::sin(2.3 * i);
}

}  // namespace

START_TEST(segments_begin_where_the_level_jumps) {
  ck_assert_uint_eq(start_of(60, [](int i) { return i < 40 ? 1 - 0.001 * i + wobble(i) : 0.5 + wobble(i); }),
                    40);  // a drop
  ck_assert_uint_eq(start_of(60, [](int i) { return i < 40 ? 1 + wobble(i) : 9 + wobble(i); }),
                    40);  // an appended run
  ck_assert_uint_eq(start_of(60, [](int i) { return (i < 20   ? 3
                                                     : i < 45 ? 2
                                                              : 1) +
                                                    wobble(i); }),
                    45);  // the last of two
  ck_assert_uint_eq(start_of(43, [](int i) { return (i < 40 ? 2 : 1) + wobble(i); }),
                    40);  // as soon as three points stay
  ck_assert_uint_eq(start_of(42, [](int i) { return (i < 40 ? 2 : 1) + wobble(i); }), 0);
}
END_TEST

START_TEST(no_segment_begins_at_a_spike_or_on_a_smooth_curve) {
  ck_assert_uint_eq(start_of(60, [](int i) { return 1 + wobble(i) + (i == 40 ? 50 : 0); }), 0);
  ck_assert_uint_eq(start_of(60, [](int i) { return 1 + wobble(i) + (i == 40 || i == 41 ? 50 : 0); }), 0);
  ck_assert_uint_eq(start_of(60, [](int i) { return std::exp(-0.3 * i); }), 0);
  ck_assert_uint_eq(start_of(60, [](int i) { return 1.0 / (1 + i); }), 0);
  ck_assert_uint_eq(start_of(60, wobble), 0);
  ck_assert_uint_eq(start_of(60, [](int) { return 1.0; }), 0);
  ck_assert_uint_eq(start_of(0, wobble), 0);
  ck_assert_uint_eq(start_of(5, [](int i) { return i < 2 ? 1.0 : 0.0; }), 0);
}
END_TEST

START_TEST(a_restarted_window_keeps_the_newest_points) {
  mlq::Window window;
  window.count = 5;
  window.age = 30;
  for (std::size_t i = 0; i < 5; ++i) {
    window.x[i] = static_cast<double>(i) - 4;
    window.y[i] = static_cast<double>(10 * i);
  }
  mlq::restart(window, 2);
  ck_assert_uint_eq(window.count, 3);
  ck_assert_double_eq(window.y[0], 20);
  ck_assert_double_eq(window.x[0], -2);
  ck_assert_double_eq(window.x[2], 0);
  ck_assert_double_eq(window.age, 30);
  mlq::restart(window, 3);  // never to nothing
  ck_assert_uint_eq(window.count, 3);
}
END_TEST

TCase* quality_history_case() {
  TCase* c = tcase_create("history");
  tcase_add_test(c, a_resumed_run_replaces_the_tail);
  tcase_add_test(c, bad_numbers_are_kept_out);
  tcase_add_test(c, a_maximised_metric_is_negated);
  tcase_add_test(c, old_points_are_thinned_never_the_first_or_the_newest);
  tcase_add_test(c, a_window_counts_in_points_and_skips_missing_costs);
  tcase_add_test(c, noise_is_seen_through_trend_and_spikes);
  tcase_add_test(c, segments_begin_where_the_level_jumps);
  tcase_add_test(c, no_segment_begins_at_a_spike_or_on_a_smooth_curve);
  tcase_add_test(c, a_restarted_window_keeps_the_newest_points);
  return c;
}
