// SPDX-License-Identifier: GPL-2.0-or-later
// One job in words: what was asked for, what it reported, what is foreseen, why it has its rank.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/mlq/job_view.hpp"

namespace mlq::cli {

/// Label and sentence.
using Explanation = std::vector<std::pair<std::string, std::string>>;

Explanation explain(const JobView& job, const CycleView& cycle, double now);

/// What a fit verdict means, "" for one that is not known.
std::string verdict_meaning(const std::string& verdict);

}  // namespace mlq::cli
