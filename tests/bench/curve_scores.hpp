// SPDX-License-Identifier: GPL-2.0-or-later
// Judges the predictor on recorded loss curves: up to 8 origins a curve, from the 21st point on, against a
// running median of 5 points some points later.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/quality/curve.hpp"
#include "core/quality/tuning.hpp"

namespace mlq::bench {

struct RecordedCurve {
  std::string name, source;  ///< source: where the curve was published, or its name
  std::vector<double> steps, losses;
  Goal goal = Goal::min;
};

/// The `step,loss` CSV files of a folder in the order of their names; sources are read from its index.tsv
/// (columns file and repo) when there is one. Throws std::runtime_error, naming what cannot be read.
std::vector<RecordedCurve> read_folder(const std::string& folder);

struct Score {
  std::size_t origins = 0;
  double relative_median = 0;  ///< of |predicted - truth| / |truth|
  double relative_capped = 0;  ///< mean of the same, each at most 0.25
  double reduction_error =
      0;  ///< mean |predicted reduction - true one|, in ranges of the curve so far, at most 1 each
  double no_change = 0;  ///< the same of predicting no change
  double covered = 0;    ///< share of truths inside the 80 % interval
};
Score score(const std::vector<RecordedCurve>& curves, const Tuning& tuning, std::size_t horizon = 10);

/// As SLAQ's authors judged: every point from the fifth on is an origin; mean |predicted - loss| / |loss| 10
/// points later without the worst 1 %.
double protocol_error(const RecordedCurve& curve, const Tuning& tuning);

}  // namespace mlq::bench
