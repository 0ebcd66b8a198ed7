// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/window.hpp"

#include <algorithm>
#include <cmath>

namespace mlq {
namespace {

constexpr double kLeastSpacing = 1e-12;
constexpr std::size_t kGaps = 33;  // spacing is the median of that many newest gaps
constexpr std::size_t kNoise = 64;

double usual_spacing(const History& history) {
  std::array<double, kGaps> gaps{};
  std::size_t count = 0;
  for (std::size_t i = history.size(); i >= 2 && count < kGaps; --i)
    gaps[count++] = history.iteration(i - 1) - history.iteration(i - 2);
  const double spacing = median_of({gaps.data(), count});
  // Closer than any trainer counts, or not a gap at all: its inverse must stay finite.
  return spacing > kLeastSpacing && std::isfinite(spacing) ? spacing : 1;
}

}  // namespace

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
