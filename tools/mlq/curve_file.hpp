// SPDX-License-Identifier: GPL-2.0-or-later
// Reads loss curves from what trainers write: CSV, JSON lines, Hugging Face's trainer_state.json.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mlq::cli {

/// One row. `loss` is NaN where the file says nan, null or the like; a row without a loss is no row.
struct CurveRow {
  double step = 0;
  double loss = 0;
};

/// Names of the columns (or JSON keys); empty = the usual ones are tried.
struct CurveColumns {
  std::string step, loss;
};

/// What is wrong with a file, in one line that does not name the file.
struct CurveFileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `text` with '?' for control characters: a message is one line and moves no cursor.
std::string printable(std::string_view text);

/// Throws CurveFileError: unreadable, no such column, not a number, no rows.
std::vector<CurveRow> read_curve(const std::string& path, const CurveColumns& columns);

}  // namespace mlq::cli
