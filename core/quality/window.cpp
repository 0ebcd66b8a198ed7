// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/window.hpp"

#include <algorithm>
#include <cmath>

namespace mlq {
namespace {

constexpr double kLeastSpacing = 1e-12;
constexpr std::size_t kGaps = 33;  // spacing is the median of that many newest gaps
constexpr std::size_t kNoise = 64;
constexpr std::size_t kSide = 8;   // points looked at on each side of a jump,
constexpr std::size_t kStays = 3;  // and at least that many

double usual_spacing(const History& history) {
  std::array<double, kGaps> gaps{};
  std::size_t count = 0;
  for (std::size_t i = history.size(); i >= 2 && count < kGaps; --i)
    gaps[count++] = history.iteration(i - 1) - history.iteration(i - 2);
  const double spacing = median_of({gaps.data(), count});
  // Closer than any trainer counts, or not a gap at all: its inverse must stay finite.
  return spacing > kLeastSpacing && std::isfinite(spacing) ? spacing : 1;
}

// Whether more than half of the steps between the values are shorter than this.
bool mostly_shorter(std::span<const double> values, double step) {
  std::size_t shorter = 0;
  for (std::size_t i = 1; i < values.size(); ++i) shorter += std::abs(values[i] - values[i - 1]) < step;
  return 2 * shorter > values.size() - 1;
}

bool apart(std::span<const double> before, std::span<const double> after) {
  const auto [low_before, high_before] = std::minmax_element(before.begin(), before.end());
  const auto [low_after, high_after] = std::minmax_element(after.begin(), after.end());
  return *high_after < *low_before || *low_after > *high_before;
}

}  // namespace

std::size_t segment_start(std::span<const double> values, double jump) {
  const std::size_t n = values.size();
  for (std::size_t i = n < kStays ? 0 : n - kStays; i >= kStays; --i) {
    const double usual = std::abs(values[i] - values[i - 1]) / jump;
    const auto before = values.subspan(i - std::min(i, kSide), std::min(i, kSide));
    const auto after = values.subspan(i, std::min(n - i, kSide));
    if (mostly_shorter(before, usual) && mostly_shorter(after, usual) && apart(before, after)) return i;
  }
  return 0;
}

void restart(Window& window, std::size_t first) {
  if (first == 0 || first >= window.count) return;
  window.count -= first;
  const auto from = static_cast<std::ptrdiff_t>(first), count = static_cast<std::ptrdiff_t>(window.count);
  std::copy_n(window.x.begin() + from, count, window.x.begin());
  std::copy_n(window.y.begin() + from, count, window.y.begin());
}

double median_of(std::span<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

double smoothed_present(std::span<const double> values) {
  std::array<double, 3> last{};
  const std::size_t count = std::min(values.size(), last.size());
  std::copy(values.end() - static_cast<std::ptrdiff_t>(count), values.end(), last.begin());
  return median_of({last.data(), count});
}

double noise_of(std::span<const double> values) {
  if (values.size() < 4) return 0;
  std::array<double, kNoise> bends{};
  const std::size_t count = std::min(values.size() - 2, kNoise);
  const std::size_t from = values.size() - count;
  for (std::size_t i = 0; i < count; ++i)
    bends[i] = std::abs(values[from + i] - 2 * values[from + i - 1] + values[from + i - 2]);
  return median_of({bends.data(), count}) * (1.4826 / std::sqrt(6.0));
}

Window newest(const History& history) {
  Window window;
  window.spacing = usual_spacing(history);
  std::size_t first = history.size();
  std::size_t finite = 0;
  while (first > 0 && finite < Window::kCapacity)
    if (std::isfinite(history.cost(--first))) ++finite;
  double newest_iteration = history.last_iteration();
  for (std::size_t i = first; i < history.size(); ++i) {
    if (!std::isfinite(history.cost(i))) continue;
    newest_iteration = history.iteration(i);
    window.x[window.count] = newest_iteration;
    window.y[window.count++] = history.cost(i);
  }
  for (std::size_t i = 0; i < window.count; ++i)
    window.x[i] = (window.x[i] - newest_iteration) / window.spacing;
  window.range = history.worst_cost() - history.best_cost();
  window.nonnegative = history.any() && history.best_cost() >= 0;
  if (history.size() > 0) {
    window.age = 1 + (newest_iteration - history.iteration(0)) / window.spacing;
    window.since = (history.last_iteration() - newest_iteration) / window.spacing;
  }
  return window;
}

}  // namespace mlq
