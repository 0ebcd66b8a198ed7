// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/environment.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace mlq::run {
namespace {

using std::string_view;

/// Variables by which Slurm's commands, its plugins and MPI libraries tell one job from another.
constexpr std::array<string_view, 12> kOfAJob{"SLURM_",  "SBATCH_",  "SALLOC_", "SRUN_",
                                              "SQUEUE_", "SCANCEL_", "SLURMD_", "SLURMSTEPD_",
                                              "_SLURM_", "SPANK_",   "PMI",     "OMPI_"};
constexpr std::array<string_view, 12> kOfAShell{
    "PATH",   "HOME", "USER",   "LOGNAME",         "SHELL",      "LANG",
    "LC_ALL", "TZ",   "TMPDIR", "LD_LIBRARY_PATH", "SLURM_CONF", "XDG_RUNTIME_DIR"};

/// Which of a node's devices a job has, as Slurm and the drivers number them there: of no use on another
/// node.
constexpr std::array<string_view, 5> kOfDevices{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                                "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                                "ZE_AFFINITY_MASK"};

bool starts_with_one_of(string_view name, const auto& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](string_view prefix) { return name.starts_with(prefix); });
}

bool of_a_job(string_view name) {
  return name != "SLURM_CONF" && starts_with_one_of(name, kOfAJob);
}

bool of_a_node(string_view name) {
  return of_a_job(name) || std::find(kOfDevices.begin(), kOfDevices.end(), name) != kOfDevices.end();
}

bool secret(string_view name) {
  return name.starts_with("MLQ_AGENT");
}

}  // namespace

Environment base_environment(const Environment& node, const Environment& parent) {
  Environment result;
  for (const auto& [name, value] : node)
    if (of_a_node(name)) result[name] = value;
  for (const auto& [name, value] : parent)
    if (!secret(name) && (!of_a_node(name) || &node == &parent)) result[name] = value;
  return result;
}

Environment worker_environment(const Environment& base, const Place& place, const std::string& agent_socket,
                               std::int64_t node_cores) {
  Environment result = base;
  const auto set = [&](const char* name, std::int64_t value) { result[name] = std::to_string(value); };
  set("RANK", place.rank);
  set("LOCAL_RANK", place.local_rank);
  set("WORLD_SIZE", place.world);
  set("LOCAL_WORLD_SIZE", place.local_world);
  result["MASTER_ADDR"] = place.address;
  set("MASTER_PORT", place.port);
  set("MLQ_GENERATION", place.generation);
  set("MLQ_UNITS", place.units);
  if (place.cores > 0) set("MLQ_CORES", place.cores);
  result["MLQ_AGENT"] = agent_socket;
  result.erase("MLQ_JOINING");
  if (place.joining) set("MLQ_JOINING", 1);
  if (!result.contains("OMP_NUM_THREADS"))
    set("OMP_NUM_THREADS",
        std::max<std::int64_t>(1, node_cores / std::max<std::int64_t>(1, place.local_world)));
  return result;
}

Environment command_environment(const Environment& own) {
  Environment result;
  for (const auto& [name, value] : own)
    if (!of_a_job(name) && !name.starts_with("MLQ_") && name != "ML_QUALITY") result[name] = value;
  return result;
}

Environment companion_environment(const Environment& own) {
  Environment result;
  for (const string_view name : kOfAShell)
    if (const auto found = own.find(std::string(name)); found != own.end()) result.insert(*found);
  return result;
}

}  // namespace mlq::run
