// SPDX-License-Identifier: GPL-2.0-or-later
// The constants of the predictor. They were chosen on real curves, none of them sharply; doc/prediction.md
// shows how they do on curves they were not chosen on.
#pragma once

#include <array>
#include <cstddef>

#include "core/quality/family_fit.hpp"

namespace mlq {

struct FamilyTuning {
  double decay = 1;         ///< weight of a point against the next
  std::size_t length = 10;  ///< points beyond which that weight is nothing
  double prior = 1;         ///< error expected before any back-test, against the usual one
};

struct Tuning {
  double sharpness = 5.2;      ///< a member's weight is its expected error to the minus this
  double forget = 0.95;        ///< weight of a back-test against the next newer one
  double shortness = 2.7;      ///< back-tests over fewer than 10 points count by (points/10)^this
  double prior_tests = 1.9;    ///< back-tests the prior counts for
  double forgiveness = 0.8;    ///< errors that differ by less than this share of the noise are the same,
  double noise = 1.3;          ///< the noise taken at most this often,
  double floor_share = 0.001;  ///< and at least this share of the usual error
  double trim = 0.3;           ///< share of the weight left out at each end of the opinions
  double trim_tests = 1;       ///< back-tests from which on half of that is left out
  double damp = 200;           ///< points after which a straight trend has lost most of its slope

  // Errors expected before any back-test, against the usual one.
  double prior_median = 0.9, prior_mean = 1.4, prior_line = 1.2, prior_log = 2.1;
  std::array<FamilyTuning, kFamilies.size()> families{{
      {0.89, 40, 0.46},  // sublinear
      {0.7, 15, 0.38},   // exponential
      {0.5, 10, 0.42},   // hyperbola
      {0.85, 33, 0.8},   // power
  }};

  double jump = 7;          ///< a step that large against the median ones on both sides begins a segment
  std::size_t segment = 6;  ///< points of a segment from which on it is taken alone

  // The 80 % interval, from the mean absolute errors of the back-tests, split into what the noise explains
  // and the rest.
  double errors = 1.2;  ///< its half, in those errors
  double few = 0.3;     ///< wider by this share over one more than the number of back-tests
  double growth = 1;    ///< power of the horizon with which the rest grows up to the back-tests' horizon,
  double growth_beyond = 0.58;  ///< and beyond
  double calm_growth = 0.5;     ///< the same of the noise beyond it: a noisy loss drifts
  double untested = 0.5;        ///< without a back-test, its half as a share of the predicted change
};

}  // namespace mlq
