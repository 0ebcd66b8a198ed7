// SPDX-License-Identifier: GPL-2.0-or-later
// AdminComment: one line of JSON in which our member "mlq" stands beside whatever the site keeps there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm-plugin/engine/requeue_state.hpp"

namespace mlq::engine {

/// What sacct tells afterwards of a job. Members that are empty are left out of the text.
struct CommentFields {
  std::optional<double> loss;   ///< newest finite loss as reported
  std::optional<double> first;  ///< first loss
  std::optional<double> best;
  std::optional<double> fraction;   ///< of the reachable reduction, in [0, 1]
  std::optional<double> gain_pred;  ///< normalised gain predicted, summed over the horizons of the run
  std::optional<double> gain_real;  ///< what came of it in the same horizons
  std::optional<double>
      core_s;  ///< core-seconds used, earlier runs of a requeued job and companions included
  std::optional<double> core_s_before;  ///< those of earlier runs
  std::optional<double> shrunk_s;       ///< of core_s: of nodes that this run has given back
  std::optional<double> companion_s;    ///< of core_s: used by companions that ended
  std::optional<double> companion_end;  ///< when the last of them ended, seconds since the epoch
  std::optional<double> iter;           ///< newest iteration
  std::string verdict;                  ///< of the last fit
  std::vector<std::uint32_t> ranks;     ///< ranks among the pending ML jobs, oldest first, at most max_ranks
  std::uint32_t restarts = 0;
  std::uint32_t site = 0;   ///< site factor set last
  std::uint32_t asked = 0;  ///< units that it asked for before its size was chosen; 0: it was not
  RequeueRecord requeue;    ///< of a job with resize=requeue
  bool final = false;       ///< written after the end of the job

  static constexpr std::size_t max_ranks = 8;
};

/// Our member in what a job already has; empty when there is none or it is not of schema version 1.
std::optional<CommentFields> read_comment(std::string_view existing);

/// The whole new text, at most MLQ_ADMIN_COMMENT_MAX bytes: the site's JSON object with our member put at its
/// end, or {"site": "its text", "mlq": ...}. Ours is shortened when it does not fit, the site's never; empty
/// when nothing of ours fits or the site's text cannot be kept in JSON (then it must be left as it is).
std::optional<std::string> merge_comment(std::string_view existing, const CommentFields& fields);

}  // namespace mlq::engine
