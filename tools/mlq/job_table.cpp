// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/job_table.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "tools/mlq/error.hpp"
#include "tools/mlq/format.hpp"

namespace mlq::cli {
namespace {

using Job = const JobView&;
constexpr std::size_t kWidthMax = 1024;
/// Of a column that was given no width and is not the last: one job's long name hides no column of the
/// others.
constexpr std::size_t kUsualWidthMax = 64;

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : printable(text);
}

std::string companions_of(Job job, double) {
  std::string text;
  for (const CompanionView& one : job.size.companions)
    text += (text.empty() ? "" : ",") + std::to_string(one.job_id) + ":" + integer(one.units);
  return or_dash(text);
}

constexpr Column kColumns[] = {
    {"jobid", "JOBID", true, [](Job job, double) { return shown_id(job); }},
    {"user", "USER", false, [](Job job, double) { return or_dash(job.user); }},
    {"account", "ACCOUNT", false, [](Job job, double) { return or_dash(job.account); }},
    {"partition", "PARTITION", false, [](Job job, double) { return or_dash(job.partition); }},
    {"name", "NAME", false, [](Job job, double) { return or_dash(job.name); }},
    {"family", "FAMILY", false, [](Job job, double) { return or_dash(job.family); }},
    {"request", "REQUEST", false, [](Job job, double) { return or_dash(job.request); }},
    {"state", "STATE", false, [](Job job, double) { return or_dash(job.state); }},
    {"cores", "CORES", true, [](Job job, double) { return integer(job.cores); }},
    {"held", "HELD", true, [](Job job, double) { return integer(job.size.held); }},
    {"target", "TARGET", true, [](Job job, double) { return integer(job.size.target); }},
    {"phase", "PHASE", false, [](Job job, double) { return or_dash(job.size.phase); }},
    {"moves", "MOVES", true, [](Job job, double) { return integer(job.size.moves); }},
    {"lost", "LOST_S", true, [](Job job, double) { return significant(job.size.lost_s, 4); }},
    {"companions", "COMPANIONS", false, companions_of},
    {"iteration", "ITERATION", true, [](Job job, double) { return integer(job.iteration); }},
    {"loss", "LOSS", true, [](Job job, double) { return significant(job.loss, 5); }},
    {"firstloss", "FIRST_LOSS", true, [](Job job, double) { return significant(job.first_loss, 5); }},
    {"bestloss", "BEST_LOSS", true, [](Job job, double) { return significant(job.best_loss, 5); }},
    {"reached", "REACHED", true, [](Job job, double) { return percent(job.fraction); }},
    {"gain", "GAIN", true, [](Job job, double) { return significant(job.gain, 3); }},
    {"gainpercore", "GAIN/CORE", true, [](Job job, double) { return significant(job.gain_per_core, 3); }},
    {"score", "SCORE", true, [](Job job, double) { return significant(job.score, 3); }},
    {"rank", "RANK", true, [](Job job, double) { return integer(job.rank); }},
    {"site", "SITE", true, [](Job job, double) { return integer(job.site_factor); }},
    {"fit", "FIT", false, [](Job job, double) { return or_dash(job.verdict); }},
    {"model", "MODEL", false, [](Job job, double) { return or_dash(job.model); }},
    {"source", "SOURCE", false, [](Job job, double) { return or_dash(job.source); }},
    {"age", "AGE", true, [](Job job, double now) { return duration(age(job, now)); }},
    {"points", "POINTS", true, [](Job job, double) { return integer(job.points); }},
    {"rate", "ITER/S", true, [](Job job, double) { return significant(job.rate, 3); }},
    {"predicted", "PREDICTED", true, [](Job job, double) { return significant(job.forecast.predicted, 5); }},
    {"coreseconds", "CORE_SECONDS", true, [](Job job, double) { return significant(job.core_seconds, 6); }},
    {"submit", "SUBMIT", false, [](Job job, double) { return timestamp(job.submit); }},
    {"start", "START", false, [](Job job, double) { return timestamp(job.start); }},
    {"end", "END", false, [](Job job, double) { return timestamp(job.end); }},
    {"restarts", "RESTARTS", true, [](Job job, double) { return integer(job.restarts); }},
    {"jobidraw", "JOBIDRAW", true, [](Job job, double) { return std::to_string(job.job_id); }},
    {"reason", "REASON", false, [](Job job, double) { return or_dash(job.reason); }},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
  });
  return out;
}

ShownColumn parse_column(std::string_view text) {
  ShownColumn shown;
  const auto colon = text.find(':');
  const std::string name = lower(text.substr(0, colon));
  for (const Column& column : kColumns)
    if (name == column.field) shown.column = &column;
  if (!shown.column)
    throw Error("-o: there is no field \"" + printable(std::string(text.substr(0, colon))) +
                "\"; fields are " + field_names());
  if (colon == std::string_view::npos) return shown;
  const std::string_view width = text.substr(colon + 1);
  const auto [end, code] = std::from_chars(width.data(), width.data() + width.size(), shown.width);
  if (code != std::errc() || end != width.data() + width.size() || shown.width < 1 || shown.width > kWidthMax)
    throw Error("-o: the width of " + name + " is \"" + printable(std::string(width)) +
                "\"; allowed are 1 to 1024");
  return shown;
}

/// Exactly `size` characters; what does not fit ends with '+', as in sacct.
std::string fit(const std::string& text, std::size_t size, bool right) {
  const std::size_t have = width(text);
  if (have <= size)
    return right ? std::string(size - have, ' ') + text : text + std::string(size - have, ' ');
  std::size_t bytes = 0, characters = 0;
  while (bytes < text.size()) {
    const bool starts = (static_cast<unsigned char>(text[bytes]) & 0xc0) != 0x80;
    if (starts && characters++ == size - 1) break;
    ++bytes;
  }
  return text.substr(0, bytes) + "+";
}

const char* colour_of(const std::string& verdict) {
  if (verdict == "improving") return "\033[32m";
  if (verdict == "diverged" || verdict == "rising") return "\033[31m";
  if (verdict == "noisy" || verdict == "plateau" || verdict == "constant") return "\033[33m";
  return "";
}

using Row = std::vector<std::string>;

std::string join_parsable(const Row& row) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string value = row[i];
    std::replace(value.begin(), value.end(), '|', '?');
    line += (i ? "|" : "") + value;
  }
  return line;
}

std::string join_aligned(const Row& row, const std::vector<ShownColumn>& columns,
                         const std::vector<std::size_t>& widths, TableStyle style) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool last = i + 1 == row.size();
    std::string cell = fit(row[i], widths[i], columns[i].column->right);
    if (last) cell.erase(cell.find_last_not_of(' ') + 1);
    const std::string colour =
        style == TableStyle::coloured && columns[i].column->field == std::string_view("fit")
            ? colour_of(row[i])
            : "";
    if (!colour.empty()) cell = colour + cell + "\033[0m";
    line += cell + (last ? "" : " ");
  }
  return line;
}

}  // namespace

std::string field_names() {
  std::string names;
  for (const Column& column : kColumns) names += (names.empty() ? "" : ", ") + std::string(column.field);
  return names;
}

std::vector<ShownColumn> parse_format(const std::string& format) {
  std::vector<ShownColumn> columns;
  std::string_view rest = format;
  for (;;) {
    const auto comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    if (lower(part) == "all")
      for (const Column& column : kColumns) columns.push_back({&column, 0});
    else
      columns.push_back(parse_column(part));
    if (comma == std::string_view::npos) return columns;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<std::string> format_table(const std::vector<JobView>& jobs,
                                      const std::vector<ShownColumn>& columns, double now, TableStyle style,
                                      Header header) {
  std::vector<Row> rows;
  if (header == Header::shown) {
    rows.emplace_back();
    for (const ShownColumn& shown : columns) rows.back().emplace_back(shown.column->header);
  }
  for (const JobView& job : jobs) {
    rows.emplace_back();
    for (const ShownColumn& shown : columns) rows.back().push_back(shown.column->text(job, now));
  }
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    widths.push_back(columns[i].width);
    if (columns[i].width != 0) continue;
    for (const Row& row : rows) widths[i] = std::max(widths[i], width(row[i]));
    if (i + 1 < columns.size()) widths[i] = std::min(widths[i], kUsualWidthMax);
  }
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    lines.push_back(style == TableStyle::parsable ? join_parsable(row)
                                                  : join_aligned(row, columns, widths, style));
    if (style == TableStyle::coloured && header == Header::shown && lines.size() == 1)
      lines.back() = "\033[1m" + lines.back() + "\033[0m";
  }
  return lines;
}

}  // namespace mlq::cli
