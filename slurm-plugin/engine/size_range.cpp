// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/size_range.hpp"

#include <algorithm>

namespace mlq::engine {
namespace {

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
  if (tasks % nodes != 0)
    range.refusal = "its " + std::to_string(tasks) + " tasks cannot be the same number on each of its nodes";
}

void range_of_cpus(const mlq_request_t& request, const mlq_size_request_t& size, SizeRange& range) {
  range.unit = std::max(request.cores_per_unit, 1U);
  range.asked = std::max(size.cpus / range.unit, 1U);
  if (size.whole_nodes)
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

}  // namespace

SizeRange size_range(const mlq_request_t& request, const mlq_size_request_t& size, NodeRange before) {
  SizeRange range;
  const bool units_given = request.min_units > 0 || request.max_units > 0;
  if (before.max == 0) before = {size.min_nodes, size.max_nodes};
  const bool nodes_given = before.max > before.min;
  range.given = !request.off && request.companion == 0 && (units_given || nodes_given);
  if (!range.given) return range;
  if (units_given && request.unit == MLQ_UNIT_GPU) {
    range.refusal = "its unit is a GPU";
    return range;
  }
  if (!units_given || request.unit == MLQ_UNIT_NODE)
    range_of_nodes(size, range);
  else
    range_of_cpus(request, size, range);
  if (units_given) {
    range.min = request.min_units > 0 ? request.min_units : std::min(range.asked, request.max_units);
    range.max = request.max_units > 0 ? request.max_units : std::max(range.asked, range.min);
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
  sizing.cpus = units * range.unit;
  sizing.tasks = sizing.cpus / per_task(size);
  sizing.nodes = range.nodes ? units : 0;
  return sizing;
}

}  // namespace mlq::engine
