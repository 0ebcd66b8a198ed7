// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/node_size.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>

namespace mlq::run {
namespace {

constexpr std::int64_t kRanksPerNodeMax = 4096;

std::int64_t number_at(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || value < 0) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::int64_t variable(const Environment& environment, const char* name, std::int64_t missing) {
  const auto found = environment.find(name);
  if (found == environment.end()) return missing;
  std::string_view text = found->second;
  const std::int64_t value = number_at(text);
  return value >= 0 && text.empty() ? value : missing;
}

std::int64_t own_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// Of this node. SLURM_JOB_GPUS is of the batch host, also in what srun starts elsewhere: last of all.
std::int64_t gpus_in(const Environment& environment) {
  if (const std::int64_t count = variable(environment, "SLURM_GPUS_ON_NODE", 0); count > 0) return count;
  for (const char* name : {"SLURM_STEP_GPUS", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                           "ZE_AFFINITY_MASK", "SLURM_JOB_GPUS"})
    if (const auto found = environment.find(name); found != environment.end() && !found->second.empty())
      return 1 + std::count(found->second.begin(), found->second.end(), ',');
  return 0;
}

}  // namespace

std::optional<std::vector<std::int64_t>> cores_per_node(std::string_view text, std::size_t most) {
  std::vector<std::int64_t> list;
  while (!text.empty()) {
    const std::int64_t cores = number_at(text);
    std::int64_t times = 1;
    if (text.starts_with("(x")) {
      text.remove_prefix(2);
      times = number_at(text);
      if (!text.starts_with(')')) return std::nullopt;
      text.remove_prefix(1);
    }
    if (cores <= 0 || times <= 0 || list.size() + static_cast<std::size_t>(times) > most) return std::nullopt;
    list.insert(list.end(), static_cast<std::size_t>(times), cores);
    if (text.empty()) return list;
    if (!text.starts_with(',')) return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

NodeSize node_size(const Environment& environment) {
  NodeSize size;
  size.job = variable(environment, "SLURM_JOB_ID", 0);
  size.nodes = std::max<std::int64_t>(1, variable(environment, "SLURM_JOB_NUM_NODES", 1));
  size.node = variable(environment, "SLURM_NODEID", 0);
  size.gpus = gpus_in(environment);
  size.cores = own_cores();
  const auto list = environment.find("SLURM_JOB_CPUS_PER_NODE");
  if (size.job > 0 && list != environment.end())
    if (const auto cores = cores_per_node(list->second);
        cores && size.node < static_cast<std::int64_t>(cores->size()))
      size.cores = (*cores)[static_cast<std::size_t>(size.node)];
  return size;
}

std::optional<RanksRule> parse_ranks(const std::string& text) {
  if (text == "unit") return RanksRule{RanksRule::per_unit, 1};
  if (text == "node") return RanksRule{RanksRule::per_node, 1};
  std::string_view rest = text;
  const std::int64_t count = number_at(rest);
  if (count < 1 || count > kRanksPerNodeMax || !rest.empty()) return std::nullopt;
  return RanksRule{RanksRule::number, count};
}

std::int64_t ranks_of(const RanksRule& rule, std::int64_t units) {
  switch (rule.kind) {
    case RanksRule::per_unit:
      return std::max<std::int64_t>(1, units);
    case RanksRule::per_node:
      return 1;
    case RanksRule::number:
      return rule.count;
  }
  return 1;
}

}  // namespace mlq::run
