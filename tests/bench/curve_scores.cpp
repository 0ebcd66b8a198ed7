// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/bench/curve_scores.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "core/quality/window.hpp"

namespace mlq::bench {
namespace {

constexpr std::size_t kFirst = 20, kOrigins = 8, kHalf = 2, kFewest = 5;

double number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() ? NAN : value;
}

std::map<std::string, std::string> sources_of(const std::string& folder) {
  std::map<std::string, std::string> out;
  std::ifstream in(folder + "/index.tsv");
  std::string line, cell;
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    for (std::istringstream row(line); std::getline(row, cell, '\t');) cells.push_back(cell);
    if (cells.size() > 5) out[cells[0]] = cells[5];
  }
  return out;
}

RecordedCurve read(const std::filesystem::path& path) {
  RecordedCurve out;
  out.name = out.source = path.filename().string();
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) throw std::runtime_error(path.string() + ": cannot be read");
  while (std::getline(in, line)) {
    const std::size_t comma = line.find(',');
    const double step = number_of(line);
    if (comma == std::string::npos || std::isnan(step)) continue;
    while (!out.steps.empty() && out.steps.back() >= step) {  // a resumed run
      out.steps.pop_back();
      out.losses.pop_back();
    }
    out.steps.push_back(step);
    out.losses.push_back(number_of(line.substr(comma + 1)));
  }
  return out;
}

double running_median(const std::vector<double>& losses, std::size_t i, std::size_t end) {
  std::vector<double> near;
  for (std::size_t j = i - std::min(i, kHalf); j < std::min(i + kHalf + 1, end); ++j)
    if (std::isfinite(losses[j])) near.push_back(losses[j]);
  return near.empty() ? NAN : median_of(near);
}

std::vector<std::size_t> origins_of(std::size_t points, std::size_t horizon) {
  std::vector<std::size_t> out;
  if (points < kFirst + horizon + kHalf + 1) return out;
  const std::size_t last = points - 1 - horizon - kHalf;
  for (std::size_t k = 0; k < kOrigins; ++k)
    out.push_back(kFirst + static_cast<std::size_t>(
                               std::lrint(static_cast<double>(k * (last - kFirst)) / (kOrigins - 1.0))));
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

struct Sums {
  std::vector<double> relative;
  double capped = 0, reduction = 0, no_change = 0;
  std::size_t inside = 0, ranged = 0;
};

void judge(const RecordedCurve& curve, std::size_t origin, std::size_t horizon, const Forecast& f,
           Sums& sums) {
  const double truth = running_median(curve.losses, origin + horizon, curve.losses.size());
  const double now = running_median(curve.losses, origin, origin + 1);
  double low = HUGE_VAL, high = -HUGE_VAL;
  std::size_t known = 0;
  for (std::size_t i = 0; i <= origin; ++i) {
    if (!std::isfinite(curve.losses[i])) continue;
    low = std::min(low, curve.losses[i]);
    high = std::max(high, curve.losses[i]);
    ++known;
  }
  if (known < kFewest || !std::isfinite(truth) || !std::isfinite(now)) return;
  const double range = high - low;
  sums.relative.push_back(std::abs(f.predicted - truth) / std::max({std::abs(truth), 0.01 * range, 1e-300}));
  sums.capped += std::min(0.25, sums.relative.back());
  sums.inside += f.lower <= truth && truth <= f.upper;
  if (!(range > 0)) return;
  ++sums.ranged;
  sums.reduction += std::min(1.0, std::abs((f.now - f.predicted) - (now - truth)) / range);
  sums.no_change += std::min(1.0, std::abs(now - truth) / range);
}

}  // namespace

std::vector<RecordedCurve> read_folder(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".csv") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  const auto sources = sources_of(folder);
  std::vector<RecordedCurve> out;
  for (const auto& path : paths) {
    out.push_back(read(path));
    if (const auto found = sources.find(out.back().name); found != sources.end())
      out.back().source = found->second;
  }
  return out;
}

Score score(const std::vector<RecordedCurve>& curves, const Tuning& tuning, std::size_t horizon) {
  Sums sums;
  for (const RecordedCurve& curve : curves) {
    CurveOptions options;
    options.goal = curve.goal;
    options.tuning = &tuning;
    LossCurve fitted(options);
    std::size_t next = 0;
    for (const std::size_t origin : origins_of(curve.losses.size(), horizon)) {
      for (; next <= origin; ++next) fitted.add({curve.steps[next], curve.losses[next], 0, 0});
      fitted.refit();
      judge(curve, origin, horizon, fitted.forecast(static_cast<double>(horizon) * fitted.spacing()), sums);
    }
  }
  Score out;
  out.origins = sums.relative.size();
  const auto count = static_cast<double>(std::max<std::size_t>(out.origins, 1));
  const auto ranged = static_cast<double>(std::max<std::size_t>(sums.ranged, 1));
  out.relative_capped = sums.capped / count;
  out.covered = static_cast<double>(sums.inside) / count;
  out.reduction_error = sums.reduction / ranged;
  out.no_change = sums.no_change / ranged;
  out.relative_median = median_of(sums.relative);
  return out;
}

double protocol_error(const RecordedCurve& curve, const Tuning& tuning) {
  constexpr std::size_t kHorizon = 10;
  CurveOptions options;
  options.tuning = &tuning;
  LossCurve fitted(options);
  std::vector<double> errors;
  for (std::size_t i = 0; i + kHorizon < curve.losses.size(); ++i) {
    fitted.add({curve.steps[i], curve.losses[i], 0, 0});
    if (i + 1 < kFewest) continue;
    fitted.refit();
    const double truth = curve.losses[i + kHorizon];
    errors.push_back(std::abs(fitted.forecast(kHorizon * fitted.spacing()).predicted - truth) /
                     std::abs(truth));
  }
  std::sort(errors.begin(), errors.end());
  const std::size_t kept =
      errors.size() - std::min(errors.size(), std::max<std::size_t>(1, errors.size() / 100));
  double sum = 0;
  for (std::size_t i = 0; i < kept; ++i) sum += errors[i];
  return kept > 0 ? sum / static_cast<double>(kept) : 0;
}

}  // namespace mlq::bench
