// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/client/balance/speed_reporter.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "tools/client/balance/poster.hpp"

namespace mlq::balance {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c > ' ' && c <= '~') out += c;
  }
  return out + '"';
}

std::string node_name() {
  if (const auto name = environment("SLURMD_NODENAME"); !name.empty()) return std::string(name);
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// "0,3,4" where all are below `ranks` and the first is `rank`.
std::vector<std::uint32_t> listed_ranks(std::string_view text, std::uint32_t rank, std::uint32_t ranks) {
  std::vector<std::uint32_t> out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto value = number(text.substr(0, comma));
    if (!value || *value >= ranks) return {};
    out.push_back(*value);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  if (out.empty() || out[0] != rank) return {};
  return out;
}

}  // namespace

std::vector<std::uint32_t> ranks_of_node(std::uint32_t rank, std::uint32_t ranks) {
  // torchrun numbers the ranks of a node one after the other
  const auto local = number(environment("LOCAL_RANK")), size = number(environment("LOCAL_WORLD_SIZE"));
  if (local && size) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; *local == 0 && i < *size && rank + i < ranks; ++i) out.push_back(rank + i);
    return out;
  }
  // srun says which ranks are here, as long as the training takes srun's numbers for its own
  if (number(environment("SLURM_PROCID")) == rank && !environment("SLURM_GTIDS").empty())
    return listed_ranks(environment("SLURM_GTIDS"), rank, ranks);
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const auto other = number(environment(name)); other && *other != 0) return {};
  return {rank};
}

std::unique_ptr<SpeedReporter> SpeedReporter::of_environment(std::uint32_t rank, std::uint32_t ranks) {
  const auto family = environment("MLQ_FAMILY"), unit = environment("MLQ_UNIT");
  if (family.empty() || unit.empty() || post_target().url.empty()) return nullptr;
  auto here = ranks_of_node(rank, ranks);
  if (here.empty()) return nullptr;
  return std::make_unique<SpeedReporter>(R"({"v": 1, "family": )" + in_quotes(family) + R"(, "unit": )" +
                                             in_quotes(unit) + R"(, "node": )" + in_quotes(node_name()),
                                         std::move(here));
}

SpeedReporter::SpeedReporter(std::string head, std::vector<std::uint32_t> ranks)
    : head_(std::move(head)), ranks_(std::move(ranks)), sums_(ranks_.size()) {}

void SpeedReporter::add(std::size_t i, double seconds, double samples) {
  sums_[i].seconds += seconds;
  sums_[i].samples += samples;
  sums_[i].newest = samples;
}

std::string SpeedReporter::next(Clock::time_point now) {
  if (!started_) {
    started_ = true;
    due_ = now + kFirst;
  }
  if (++iterations_ < kIterations || now < due_) return {};
  due_ = now + kInterval;
  iterations_ = 0;
  std::string text = message();
  for (Sum& sum : sums_) sum.seconds = sum.samples = 0;
  return text;
}

std::string SpeedReporter::message() const {
  std::string text = head_ + R"(, "ranks": [)";
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    char row[96];
    const Sum& sum = sums_[i];
    std::snprintf(row, sizeof row, "%s[%u, %.0f, ", i == 0 ? "" : ", ", ranks_[i], sum.newest);
    text += row;
    if (sum.seconds > 0 && sum.samples > 0) {
      std::snprintf(row, sizeof row, "%.6g]", sum.samples / sum.seconds);
      text += row;
    } else {
      text += "null]";
    }
  }
  return text + "]}";
}

}  // namespace mlq::balance
