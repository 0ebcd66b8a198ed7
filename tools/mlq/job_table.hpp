// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs as lines: aligned columns, or fields between bars.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/mlq/job_view.hpp"

namespace mlq::cli {

struct Column {
  const char* field;  ///< name for -o
  const char* header;
  bool right;  ///< aligned to the right: numbers
  std::string (*text)(const JobView& job, double now);
};

struct ShownColumn {
  const Column* column = nullptr;
  std::size_t width = 0;  ///< 0 = as wide as its longest value; else cut to it, with a '+' at the end
};

inline constexpr const char* kDefaultFormat =
    "jobid,user,name,state,cores,iteration,loss,reached,gainpercore,rank,fit,age";

/// FIELD[:WIDTH],...; "all" stands for every field. Throws Error that names the wrong part.
std::vector<ShownColumn> parse_format(const std::string& format);

/// Names of all fields, comma-separated.
std::string field_names();

enum class TableStyle { aligned, coloured, parsable };
enum class Header { shown, left_out };

/// Lines without line ends. In the parsable style a bar inside a value becomes '?'.
std::vector<std::string> format_table(const std::vector<JobView>& jobs,
                                      const std::vector<ShownColumn>& columns, double now, TableStyle style,
                                      Header header);

}  // namespace mlq::cli
