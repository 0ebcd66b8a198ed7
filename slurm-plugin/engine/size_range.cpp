// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/size_range.hpp"

#include <algorithm>

namespace mlq::engine {
namespace {

constexpr std::uint32_t most_cpus = 65000;  ///< of a task; Slurm has 16 bits for them

std::uint32_t per_task(const mlq_size_request_t& size) {
  return std::max(size.cpus_per_task, 1U);
}

std::uint32_t tasks_of(const mlq_size_request_t& size) {
  return size.tasks > 0 ? size.tasks : std::max(size.cpus / per_task(size), 1U);
}

void range_of_nodes(const mlq_size_request_t& size, SizeRange& range) {
  const std::uint32_t nodes = std::max(size.min_nodes, 1U);
  const std::uint32_t tasks = tasks_of(size);
  range.nodes = true;
  range.asked = nodes;
  range.unit = std::max(tasks / nodes, 1U) * per_task(size);
  range.gpus = size.gpus;
  if (tasks % nodes != 0)
    range.refusal = "its " + std::to_string(tasks) + " tasks cannot be the same number on each of its nodes";
  else if (size.gpus > 0 && size.gpus_of != MLQ_GPUS_OF_NODE)
    range.refusal = "its unit is a node, and it asks for GPUs otherwise than by node";
}

void range_of_cpus(const mlq_request_t& request, const mlq_size_request_t& size, SizeRange& range) {
  range.unit = std::max(request.cores_per_unit, 1U);
  range.asked = std::max(size.cpus / range.unit, 1U);
  if (size.gpus > 0)
    range.refusal = "it asks for GPUs: only unit=gpu and unit=node count those";
  else if (size.whole_nodes)
    range.refusal = "it takes nodes whole: only unit=node counts those";
  else if (size.tasks_per_node > 0)
    range.refusal = "--ntasks-per-node says how many tasks a node has: only unit=node goes with it";
  else if (size.memory_per_node && size.min_nodes != size.max_nodes)
    range.refusal = "it asks for memory by node (--mem) and for no certain number of nodes";
  else if (range.unit % per_task(size) != 0)
    range.refusal = "its unit of " + std::to_string(range.unit) +
                    " CPUs is no multiple of --cpus-per-task=" + std::to_string(size.cpus_per_task);
  else if (size.cpus != tasks_of(size) * per_task(size))
    range.refusal = "it asks for more CPUs than its tasks need";
}

/// Why there is no telling what other numbers of GPUs would be in its terms, "" when there is.
std::string unclear_gpus(const mlq_size_request_t& size, std::uint32_t tasks) {
  const bool one_node = size.max_nodes == 1 || tasks == 1;
  if (size.gpus == 0) return "its unit is a GPU, and it asks for none";
  if (size.whole_nodes) return "it takes nodes whole, with all of their GPUs: only unit=node counts those";
  if (size.gpus_of == MLQ_GPUS_OF_NODE && !one_node)
    return "it asks for GPUs by node, and may have several nodes: only unit=node counts those";
  if (size.tasks_per_node > 0 && tasks > 1)
    return "--ntasks-per-node says how many tasks a node has: only unit=node goes with it";
  if (size.memory_per_node && size.min_nodes != size.max_nodes && !one_node)
    return "it asks for memory by node (--mem) and for no certain number of nodes";
  if (size.cpus != tasks * per_task(size)) return "it asks for more CPUs than its tasks need";
  return "";
}

/// The tasks stay as many for each GPU as they are. A single task that is not said to have so many GPUs
/// (--gpus-per-task) stays alone: it is an agent, or a program that uses them all. For the same reason no
/// other job comes down to a single task: it would stay so.
void range_of_gpus(const mlq_request_t& request, const mlq_size_request_t& size, std::uint32_t own,
                   SizeRange& range) {
  const std::uint32_t tasks = tasks_of(size), gpus = std::max(size.gpus, 1U);
  const bool of_task = size.gpus_of == MLQ_GPUS_OF_TASK;
  range.refusal = unclear_gpus(size, tasks);
  range.gpus = 1;
  std::uint32_t least = 1;
  if (of_task) {
    range.gpus = gpus;
    range.tasks = 1;
  } else if (tasks > 1 && tasks % gpus == 0) {
    range.tasks = tasks / gpus;
    least = range.tasks == 1 ? 2 : 1;
  } else if (tasks > 1) {
    range.gpus = std::max(gpus / tasks, 1U);
    range.tasks = 1;
    least = 2;
    if (gpus % tasks != 0) range.refusal = "its GPUs cannot be the same number for each of its tasks";
  } else if (size.cpus_per_gpu == 0 && (per_task(size) % gpus != 0 || size.cpus_per_node > per_task(size))) {
    range.refusal = "its CPUs cannot be the same number for each of its GPUs";
  }
  range.unit = range.tasks > 0 ? range.tasks * per_task(size) : per_task(size) / gpus;
  range.unit = std::max({range.unit, range.gpus * size.cpus_per_gpu, 1U});
  range.asked = std::max(of_task ? tasks : gpus / range.gpus, 1U);
  if (own == 0) own = range.asked;
  if (range.tasks > 0) least = std::max(least, (size.min_nodes + range.tasks - 1) / range.tasks);
  const std::uint32_t min = (request.min_units + range.gpus - 1) / range.gpus;
  const std::uint32_t max = request.max_units > 0 ? request.max_units / range.gpus : std::max(own, min);
  range.max = std::min(max, most_cpus / range.unit);
  range.min = std::max(request.min_units > 0 ? min : std::min(own, range.max), least);
  if (range.min > range.max && range.refusal.empty())
    range.refusal = "no number of GPUs in its range goes with its tasks and nodes";
}

}  // namespace

SizeRange size_range(const mlq_request_t& request, const mlq_size_request_t& size, NodeRange before,
                     std::uint32_t own) {
  SizeRange range;
  const bool units_given = request.min_units > 0 || request.max_units > 0;
  if (before.max == 0) before = {size.min_nodes, size.max_nodes};
  const bool nodes_given = before.max > before.min;
  range.given = !request.off && request.companion == 0 && (units_given || nodes_given);
  if (!range.given) return range;
  if (units_given && request.unit == MLQ_UNIT_GPU) {
    range_of_gpus(request, size, own, range);
    if (size.refusal != nullptr) range.refusal = size.refusal;
    return range;
  }
  if (!units_given || request.unit == MLQ_UNIT_NODE)
    range_of_nodes(size, range);
  else
    range_of_cpus(request, size, range);
  if (units_given) {
    if (own == 0) own = range.asked;
    range.min = request.min_units > 0 ? request.min_units : std::min(own, request.max_units);
    range.max = request.max_units > 0 ? request.max_units : std::max(own, range.min);
  } else {
    range.min = std::max(before.min, 1U);
    range.max = before.max;
  }
  if (!range.nodes) {  // a task for each node at least
    const std::uint64_t least = std::uint64_t{std::max(size.min_nodes, 1U)} * per_task(size);
    range.min = std::max(range.min, static_cast<std::uint32_t>((least + range.unit - 1) / range.unit));
    if (range.min > range.max && range.refusal.empty())
      range.refusal = "its largest size has fewer tasks than it has nodes";
  }
  if (size.refusal != nullptr) range.refusal = size.refusal;
  return range;
}

mlq_sizing_t sized(const SizeRange& range, const mlq_size_request_t& size, std::uint32_t units) {
  mlq_sizing_t sizing{};
  sizing.before = size;
  sizing.nodes = range.nodes ? units : 0;
  sizing.gpus = size.gpus;
  if (!range.counts_gpus()) {
    sizing.cpus = units * range.unit;
    sizing.tasks = sizing.cpus / per_task(size);
    return sizing;
  }
  if (size.gpus_of != MLQ_GPUS_OF_TASK) sizing.gpus = units * range.gpus;
  sizing.tasks = range.tasks > 0 ? units * range.tasks : 1;
  if (range.tasks == 0 && size.cpus_per_gpu == 0) sizing.cpus_per_task = units * range.unit;
  sizing.cpus = sizing.tasks * (sizing.cpus_per_task > 0 ? sizing.cpus_per_task : per_task(size));
  return sizing;
}

}  // namespace mlq::engine
