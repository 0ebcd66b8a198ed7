// SPDX-License-Identifier: GPL-2.0-or-later
// Finds losses in the lines that trainers write.
#pragma once

#include <jansson.h>
#include <regex.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlq::cli {

struct LogReport {
  double iteration = 0;
  double loss = 0;  ///< NaN or infinite when the line says so
};

struct LogOptions {
  std::string step, loss;  ///< names of CSV columns or JSON members; empty = the usual ones
  std::string
      pattern;  ///< extended regular expression: group 1 the iteration, 2 the loss; or 1 the loss alone
};

/// One log's lines in their order: CSV with a header, JSON objects, or text such as "step 100 loss: 0.5".
/// Where no iteration is given, or an epoch only, reports are counted. Where the iteration starts anew with
/// each epoch, it goes on from the end of the one before.
class LogReader {
 public:
  /// Throws Error for a pattern that is none or has no group.
  explicit LogReader(LogOptions options);

  std::optional<LogReport> take(std::string_view line);

 private:
  struct Found {
    std::optional<double> step, epoch, loss;
  };
  using Regex = std::unique_ptr<regex_t, void (*)(regex_t*)>;

  static Regex compile(const std::string& pattern, int flags);
  std::optional<LogReport> number(const Found& found);
  Found from_pattern(const std::string& line) const;
  Found from_json(const json_t* object) const;
  Found from_text(const std::string& line) const;
  bool take_header(const std::vector<std::string>& cells);
  Found from_cells(const std::vector<std::string>& cells) const;
  bool named(const std::string& name, const std::string& wanted, bool loss) const;

  LogOptions options_;
  Regex pattern_, loss_, step_, place_, epoch_;
  char delimiter_ = 0;  ///< of a CSV whose header was seen
  std::size_t columns_ = 0;
  std::optional<std::size_t> step_column_, epoch_column_, loss_column_;
  double count_ = 0;   ///< reports so far
  double offset_ = 0;  ///< iterations of the epochs before
  std::optional<double> last_step_, last_epoch_, last_iteration_;
};

}  // namespace mlq::cli
