// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/rank_table.hpp"

#include <algorithm>
#include <array>

#include "tools/mlq/format.hpp"

namespace mlq::cli {
namespace {

constexpr std::size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;
constexpr std::array<bool, kColumns> kRight{true, true, false, true, true, true};

Number age_of(const RankView& rank, double now) {
  return std::max(0.0, now - rank.received);
}

Row row_of(const std::string& job, const RankView& rank, double now) {
  return {job,
          std::to_string(rank.rank),
          printable(rank.node),
          integer(rank.size),
          significant(rank.speed, 4),
          duration(age_of(rank, now))};
}

std::string joined(const Row& row) {
  std::string line;
  for (std::size_t i = 0; i < kColumns; ++i) line += (i > 0 ? "|" : "") + row[i];
  return line;
}

std::string padded(const Row& row, const std::array<std::size_t, kColumns>& widths) {
  std::string line;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::string space(widths[i] - std::min(widths[i], width(row[i])), ' ');
    if (i > 0) line += ' ';
    line += kRight[i] ? space + row[i] : row[i] + space;
  }
  return line;
}

}  // namespace

std::vector<RankView> ask_ranks(const Place& place, std::uint32_t job_id) {
  const wire::Json json = ask(place, "/v1/jobs/" + std::to_string(job_id) + "?points=0" +
                                         (place.cluster.empty() ? "" : query("cluster", place.cluster)));
  return json ? read_ranks(json_object_get(json.get(), "batches")) : std::vector<RankView>{};
}

std::vector<std::string> format_ranks(const std::vector<JobRanks>& jobs, double now, TableStyle style,
                                      Header header) {
  std::vector<Row> rows;
  if (header == Header::shown) rows.push_back({"JOBID", "RANK", "NODE", "BATCH", "SPEED", "AGE"});
  for (const JobRanks& job : jobs)
    for (const RankView& rank : job.ranks) rows.push_back(row_of(job.job, rank, now));
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], width(row[i]));
  std::vector<std::string> lines;
  lines.reserve(rows.size());
  for (const Row& row : rows)
    lines.push_back(style == TableStyle::parsable ? joined(row) : padded(row, widths));
  return lines;
}

json_t* ranks_json(const std::vector<RankView>& ranks, double now) {
  const auto real = [](const Number& value) { return value ? json_real(*value) : json_null(); };
  json_t* list = json_array();
  for (const RankView& rank : ranks)
    json_array_append_new(
        list, json_pack("{s:I, s:s, s:o, s:o, s:o}", "rank", static_cast<json_int_t>(rank.rank), "node",
                        printable(rank.node).c_str(), "batch",
                        rank.size ? json_integer(static_cast<json_int_t>(*rank.size)) : json_null(), "speed",
                        real(rank.speed), "age", real(age_of(rank, now))));
  return list;
}

}  // namespace mlq::cli
