// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/trend_bank.hpp"

#include <algorithm>
#include <cmath>

namespace mlq {
namespace {

// Weighted line through the sums about the newest point: value there and slope. Where the points do not
// spread, flat.
void line(const TrendBank::Values& w, const TrendBank::Values& y, const TrendBank::Values& x,
          const TrendBank::Values& xx, const TrendBank::Values& xy, TrendBank::Values& level,
          TrendBank::Values& slope) {
  const TrendBank::Values spread = w * xx - x * x;
  const TrendBank::Values enough = (spread > 1e-9 * w * xx).cast<double>();
  slope = enough * (w * xy - x * y) / (spread + (1 - enough));
  level = (y - slope * x) / w;
}

}  // namespace

const TrendBank::Values& TrendBank::decays() {
  static const Values values = (Values() << 0.3, 0.5, 0.64, 0.76, 0.85, 0.92, 0.96, 0.985).finished();
  return values;
}

void TrendBank::add(double k, double log_k, double y) {
  const double step = k - k_, log_step = log_k - log_k_;
  const Values& unit = decays();
  if (w_[0] > 0) {
    // the origin moves to the new point: x becomes x - step
    xx_ += step * (step * w_ - 2 * x_);
    xy_ -= step * y_;
    x_ -= step * w_;
    ll_ += log_step * (log_step * w_ - 2 * l_);
    ly_ -= log_step * y_;
    l_ -= log_step * w_;
    const Values decay = std::abs(step - 1) < 1e-6 ? unit : Values(unit.pow(std::min(step, 1e4)));
    w_ *= decay;
    y_ *= decay;
    x_ *= decay;
    xx_ *= decay;
    xy_ *= decay;
    l_ *= decay;
    ll_ *= decay;
    ly_ *= decay;
  }
  w_ += 1;
  y_ += y;
  k_ = k;
  log_k_ = log_k;
}

TrendBank::Trends TrendBank::trends() const {
  Trends out;
  out.mean = y_ / w_;
  line(w_, y_, x_, xx_, xy_, out.line_level, out.line_slope);
  line(w_, y_, l_, ll_, ly_, out.log_level, out.log_slope);
  return out;
}

}  // namespace mlq
