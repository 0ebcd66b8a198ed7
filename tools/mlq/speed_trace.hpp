// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "core/balance/replay.hpp"

namespace mlq::cli {

/// Reads a CSV with a header: `worker`, `time` (the iteration, growing per worker) and either `batch_time` or
/// `batch_time_norm` (time of an equal share) or `speed`; optional `cpu` and `memory` (state of the node as
/// the iteration starts). Keeps the iterations that every worker has, workers in order of their names. Throws
/// std::runtime_error that names the file, line and field.
balance::SpeedTrace read_speed_trace(const std::string& path);

}  // namespace mlq::cli
