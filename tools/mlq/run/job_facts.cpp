// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/job_facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "core/request/quality_request.h"
#include "tools/mlq/error.hpp"

namespace mlq::run {
namespace {

/// Where Slurm keeps a SPANK option for what runs inside the job.
constexpr const char* kOption = "SLURM_SPANK__SLURM_SPANK_OPTION_ml_quality_ml_quality";

std::string variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool in_path(const Environment& environment, const char* program) {
  std::istringstream folders(variable(environment, "PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

Unit unit_of(const mlq_request_t& request, const NodeSize& size) {
  switch (request.unit) {
    case MLQ_UNIT_CORE:
      return {UnitKind::cores, 1};
    case MLQ_UNIT_CORES:
      return {UnitKind::cores, request.cores_per_unit};
    case MLQ_UNIT_GPU:
      return {UnitKind::gpu, std::max<std::int64_t>(1, size.cores / std::max<std::int64_t>(1, size.gpus)), 1};
    case MLQ_UNIT_NODE:
      return {UnitKind::node, 0, size.gpus};
  }
  return {};
}

std::string why_not_resizable(const JobFacts& facts, const mlq_request_t& request, bool no_resize) {
  if (no_resize) return "--no-resize was given";
  if (facts.size.job == 0) return "this is not a job of Slurm";
  if (facts.url.empty() || facts.token.empty()) return "it was not submitted with --ml-quality";
  if (request.resize != MLQ_RESIZE_COMPANION)
    return "it was not submitted with resize=companion among the keys of --ml-quality";
  for (const char* program : {"sbatch", "squeue", "scancel"})
    if (!in_path(facts.own, program)) return std::string(program) + " is not in PATH";
  return "";
}

}  // namespace

JobFacts job_facts(const std::string& ranks, bool no_resize) {
  JobFacts facts;
  const auto rule = parse_ranks(ranks);
  if (!rule)
    throw cli::Error("--ranks: unit, node or a number from 1 to 4096 is allowed, given was \"" + ranks +
                     "\"");
  facts.ranks = *rule;
  facts.own = own_environment();
  // components share no node
  const std::string first = variable(facts.own, "SLURM_JOB_NODELIST_HET_GROUP_0");
  if (!first.empty() && first != variable(facts.own, "SLURM_JOB_NODELIST"))
    throw cli::Error(
        "of a heterogeneous job the ranks of the first component are started: call mlq run in the batch "
        "script");
  facts.size = node_size(facts.own);
  facts.cores =
      cores_per_node(variable(facts.own, "SLURM_JOB_CPUS_PER_NODE")).value_or(std::vector<std::int64_t>{});
  if (facts.size.job == 0 || static_cast<std::int64_t>(facts.cores.size()) != facts.size.nodes) {
    facts.cores = {facts.size.cores};
    facts.size.nodes = 1;
  }
  facts.url = variable(facts.own, "MLQ_URL");
  facts.token = variable(facts.own, "MLQ_TOKEN");
  facts.cluster = variable(facts.own, "MLQ_CLUSTER");
  facts.request = variable(facts.own, kOption);
  if (facts.request.empty()) facts.request = variable(facts.own, "ML_QUALITY");
  mlq_request_t request;
  mlq_request_parse(facts.request.c_str(), &request, nullptr, 0);  // the defaults when it is none
  facts.unit = unit_of(request, facts.size);
  facts.why_not = why_not_resizable(facts, request, no_resize);
  facts.resizable = facts.why_not.empty();
  facts.requeue = request.resize == MLQ_RESIZE_REQUEUE && !no_resize;
  return facts;
}

std::int64_t units_on(const JobFacts& facts, std::int64_t cores, std::int64_t gpus) {
  switch (facts.unit.kind) {
    case UnitKind::cores:
      return std::max<std::int64_t>(1, cores / facts.unit.cores);
    case UnitKind::gpu:
      return std::max<std::int64_t>(1, gpus);
    case UnitKind::node:
      return 1;
  }
  return 1;
}

}  // namespace mlq::run
