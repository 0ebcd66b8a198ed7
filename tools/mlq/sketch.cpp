// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/sketch.hpp"

#include <algorithm>
#include <cmath>

#include "tools/mlq/format.hpp"

namespace mlq::cli {
namespace {

constexpr double kLogarithmicFrom = 20;
constexpr std::size_t kLabel = 10;

struct Range {
  double low = INFINITY, high = -INFINITY;
  void take(const Number& value) {
    if (!value || !std::isfinite(*value)) return;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  /// In [0, 1]; the middle when there is no width. By halves: the width itself may be beyond what a number
  /// takes.
  double share(double value) const { return high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5; }
  double at(double share) const { return low * (1 - share) + high * share; }
};

class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t lines, Range iterations, Range losses)
      : rows_(lines, std::string(columns, ' ')),
        iterations_(iterations),
        losses_(losses),
        most_(losses.high) {
    logarithmic_ = losses.low > 0 && losses.high / losses.low > kLogarithmicFrom;
    if (logarithmic_) losses_ = {std::log(losses.low), std::log(losses.high)};
  }

  std::size_t column(double iteration) const { return place(iterations_.share(iteration), rows_[0].size()); }
  std::size_t line(double loss) const {
    return rows_.size() - 1 - place(losses_.share(logarithmic_ ? std::log(loss) : loss), rows_.size());
  }
  double loss_at(std::size_t line) const {
    const double share = 1 - static_cast<double>(line) / static_cast<double>(rows_.size() - 1);
    return logarithmic_ ? std::min(std::exp(losses_.at(share)), most_) : losses_.at(share);
  }
  void put(std::size_t column, double loss, char mark) { rows_[line(loss)][column] = mark; }
  void put_range(std::size_t column, double low, double high, char mark) {
    for (std::size_t at = line(high); at <= line(low); ++at) rows_[at][column] = mark;
  }
  const std::vector<std::string>& rows() const { return rows_; }

 private:
  static std::size_t place(double share, std::size_t cells) {
    const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(cells - 1);
    return static_cast<std::size_t>(std::lround(at));
  }

  std::vector<std::string> rows_;
  Range iterations_, losses_;
  double most_;
  bool logarithmic_;
};

void draw_points(Canvas& canvas, const std::vector<CurvePoint>& points, std::size_t columns) {
  std::vector<double> means(columns), counts(columns);
  for (const CurvePoint& point : points) {
    if (!point.loss) continue;
    const std::size_t column = canvas.column(point.iteration);
    counts[column] += 1;
    means[column] += *point.loss / counts[column] - means[column] / counts[column];
  }
  for (std::size_t i = 0; i < columns; ++i)
    if (counts[i] > 0) canvas.put(i, means[i], '*');
}

std::string right_aligned(const std::string& text, std::size_t size) {
  return std::string(size > text.size() ? size - text.size() : 0, ' ') + text;
}

}  // namespace

std::vector<std::string> sketch(const std::vector<CurvePoint>& points, const ForecastView& forecast,
                                SketchSize size) {
  Range iterations, losses;
  std::size_t drawn = 0;
  for (const CurvePoint& point : points) {
    if (!point.loss || !std::isfinite(*point.loss)) continue;
    iterations.take(point.iteration);
    losses.take(point.loss);
    ++drawn;
  }
  if (drawn < 2) return {};
  const bool foreseen =
      forecast.iterations && *forecast.iterations > 0 && forecast.predicted && !points.empty();
  const double then = foreseen ? points.back().iteration + *forecast.iterations : 0;
  if (foreseen) {
    iterations.take(then);
    for (const Number& value : {forecast.predicted, forecast.lower, forecast.upper}) losses.take(value);
  }

  const std::size_t columns = std::max<std::size_t>(size.columns, 30) - kLabel - 2;
  Canvas canvas(columns, std::max<std::size_t>(size.lines, 3), iterations, losses);
  if (foreseen && forecast.lower && forecast.upper && *forecast.lower <= *forecast.upper)
    canvas.put_range(canvas.column(then), *forecast.lower, *forecast.upper, '|');
  draw_points(canvas, points, columns);
  if (foreseen) canvas.put(canvas.column(then), *forecast.predicted, 'o');

  std::vector<std::string> lines;
  const auto& rows = canvas.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool labelled = i == 0 || i == rows.size() / 2 || i + 1 == rows.size();
    lines.push_back(right_aligned(labelled ? significant(canvas.loss_at(i), 4) : "", kLabel) + " |" +
                    rows[i]);
    lines.back().erase(lines.back().find_last_not_of(' ') + 1);
  }
  const std::string from = significant(iterations.low, 4), to = significant(iterations.high, 4);
  lines.push_back(std::string(kLabel + 1, ' ') + "+" + std::string(columns, '-'));
  lines.push_back(std::string(kLabel + 2, ' ') + from +
                  right_aligned(to, columns - std::min(columns, from.size())));
  return lines;
}

}  // namespace mlq::cli
