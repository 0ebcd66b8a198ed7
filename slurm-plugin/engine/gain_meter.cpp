// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/gain_meter.hpp"

#include <algorithm>
#include <cmath>

namespace mlq::engine {

void GainMeter::open(const LossCurve& curve, double ahead, double horizon_s, double now) {
  const Forecast end = curve.forecast(ahead);
  if (end.verdict == Verdict::no_data || horizon_s <= 0) return;
  open_ = true;
  start_ = now;
  horizon_ = horizon_s;
  loss_ = end.now;
  fraction_ = curve.fraction_reached();
  for (std::size_t i = 0; i < parts; i++) {
    gain_[i] = curve.gain(ahead * static_cast<double>(i + 1) / static_cast<double>(parts));
  }
  const double gain = gain_.back();
  reach_ = gain > 1e-6 ? (end.now - end.predicted) / gain : 0;
  if (!std::isfinite(reach_)) reach_ = 0;
}

double GainMeter::predicted_after(double seconds) const {
  const double at = std::clamp(seconds / horizon_, 0.0, 1.0) * static_cast<double>(parts);
  const auto whole = std::min(static_cast<std::size_t>(at), parts - 1);
  const double before = whole == 0 ? 0 : gain_[whole - 1];
  return before + (gain_[whole] - before) * std::min(at - static_cast<double>(whole), 1.0);
}

void GainMeter::close(const LossCurve& curve, double now) {
  if (!open_) return;
  open_ = false;
  const double passed = now - start_;
  if (passed <= 0) return;
  const double gained =
      reach_ != 0 ? (loss_ - curve.forecast(0).now) / reach_ : curve.fraction_reached() - fraction_;
  predicted_ += predicted_after(passed);
  realised_ += std::clamp(std::isfinite(gained) ? gained : 0.0, -1.0, 1.0);
  horizons_++;
}

void GainMeter::follow(const LossCurve& curve, double ahead, double horizon_s, double now) {
  if (open_ && now - start_ >= horizon_) close(curve, now);
  if (!open_) open(curve, ahead, horizon_s, now);
}

void GainMeter::restore(double predicted, double realised) {
  predicted_ = predicted;
  realised_ = realised;
  horizons_ = 1;
}

}  // namespace mlq::engine
