// SPDX-License-Identifier: GPL-2.0-or-later
// mlq run --dry-run.
#include <cstdio>

#include "tools/mlq/run/companion_plan.hpp"
#include "tools/mlq/run/environment.hpp"
#include "tools/mlq/run/head.hpp"
#include "tools/mlq/run/job_facts.hpp"
#include "tools/mlq/run/port.hpp"

namespace mlq::run {
namespace {

void print_command(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const bool plain =
        word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=./:,+%") ==
            std::string::npos &&
        !word.empty();
    std::printf(" %s", (plain ? word : shell_quoted(word)).c_str());
  }
  std::printf("\n");
}

const char* unit_name(const Unit& unit) {
  switch (unit.kind) {
    case UnitKind::cores:
      return unit.cores == 1 ? "core" : "cores";
    case UnitKind::gpu:
      return "gpu";
    case UnitKind::node:
      return "node";
  }
  return "";
}

}  // namespace

void show_plan(const RunOptions& options) {
  const JobFacts facts = job_facts(options.ranks, options.no_resize);
  const std::string address = options.address.empty() ? own_address() : options.address;
  Place place{1, 0, 0, 0, 0, address, 0, 0, 0, false};
  for (const std::int64_t cores : facts.cores) {
    place.world += ranks_of(facts.ranks, units_on(facts, cores, facts.size.gpus));
    place.units += units_on(facts, cores, facts.size.gpus);
    place.cores += cores;
  }
  place.local_world = ranks_of(facts.ranks, units_on(facts, facts.cores.front(), facts.size.gpus));
  std::printf("command:");
  print_command(options.command);
  std::printf("nodes: %zu\nunit: %s%s\nunits: %lld\nranks: %lld, on this node %lld\n", facts.cores.size(),
              facts.unit.kind == UnitKind::cores && facts.unit.cores > 1
                  ? (std::to_string(facts.unit.cores) + " ").c_str()
                  : "",
              unit_name(facts.unit), static_cast<long long>(place.units), static_cast<long long>(place.world),
              static_cast<long long>(place.local_world));
  std::printf("environment of rank 0:\n");
  const Environment mine = worker_environment({}, place, "(a socket)", facts.size.cores);
  for (const auto& [name, value] : mine)
    std::printf("  %s=%s\n", name.c_str(), name == "MASTER_PORT" ? "(a free port)" : value.c_str());
  if (!facts.resizable) {
    std::printf("resizing: no: %s\n", facts.why_not.c_str());
    return;
  }
  std::printf("resizing: %s\n", options.restart
                                    ? "by restart, or in the processes if they attach to MLQ_AGENT"
                                    : "if the ranks attach to MLQ_AGENT (mlq.elastic, mlq.torch)");
  ParentJob parent;
  parent.job = facts.size.job;
  parent.name = "mlq-companion-of-" + std::to_string(parent.job);
  std::printf(
      "a companion of one unit, beside this job's account, QOS, constraint, reservation and time left:\n ");
  print_command(
      sbatch_command(parent, facts.unit, {"PARTITION", 1}, ".", "exec mlq run --join " + address + ":PORT"));
}

}  // namespace mlq::run
