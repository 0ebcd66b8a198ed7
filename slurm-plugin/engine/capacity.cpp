// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/capacity.hpp"

#include <algorithm>
#include <string_view>

namespace mlq::engine {
namespace {

bool lists(std::string_view have, std::string_view name) {
  while (!have.empty()) {
    const std::size_t comma = have.find(',');
    if (have.substr(0, comma) == name) return true;
    have = comma == std::string_view::npos ? std::string_view() : have.substr(comma + 1);
  }
  return false;
}

}  // namespace

bool has_features(const char* have, const char* wanted) {
  std::string_view rest = wanted == nullptr ? "" : wanted;
  const std::string_view there = have == nullptr ? "" : have;
  if (rest.find_first_of("|[]()*!:=") != std::string_view::npos) return true;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of("&,");
    if (!lists(there, rest.substr(0, end))) return false;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return true;
}

bool Patience::ignored(std::uint32_t job_id, std::int64_t submit, double now) {
  Entry& entry = entries_[job_id];
  if (entry.submit != submit) entry = Entry();
  entry.submit = submit;
  entry.asked = true;
  return now < entry.ignored_until;
}

void Patience::could_start_now(std::uint32_t job_id, bool could, double now) {
  Entry& entry = entries_[job_id];
  if (!could) {
    entry.since = -1;
  } else if (entry.since < 0) {
    entry.since = now;
  } else if (now - entry.since > patience_s) {
    entry.since = -1;
    entry.ignored_until = now + entry.ignore_next;
    entry.ignore_next = std::min(2 * entry.ignore_next, ignore_most_s);
  }
}

void Patience::forget_others() {
  std::erase_if(entries_, [](const auto& entry) { return !entry.second.asked; });
  for (auto& [id, entry] : entries_) entry.asked = false;
}

std::vector<char> Capacity::allowed(const std::string& partition, const char* features) const {
  std::size_t p = 0;
  while (p < cluster_->partition_count && partition != cluster_->partitions[p]) p++;
  if (p == cluster_->partition_count) return {};
  std::vector<char> by_class(cluster_->class_count);
  for (std::size_t c = 0; c < by_class.size(); c++)
    by_class[c] = has_features(cluster_->classes[c].features, features) ? 1 : 0;
  std::vector<char> nodes(now_.size(), 0);
  for (std::size_t n = 0; n < nodes.size(); n++) {
    const mlq_node_snapshot_t& node = cluster_->nodes[n];
    nodes[n] =
        (node.partitions >> p & 1) != 0 && node.node_class < by_class.size() ? by_class[node.node_class] : 0;
  }
  return nodes;
}

std::vector<char> waiting_nodes(const mlq_cluster_snapshot_t& cluster, const mlq_waiting_snapshot_t& job,
                                std::uint32_t& required) {
  std::vector<char> by_class(cluster.class_count);
  for (std::size_t c = 0; c < by_class.size(); c++) {
    const mlq_class_snapshot_t& kind = cluster.classes[c];
    by_class[c] = has_features(kind.features, job.features) && (!job.gres || kind.gres) ? 1 : 0;
  }
  std::vector<char> nodes(cluster.node_count, 0);
  required = 0;
  for (std::size_t n = 0; n < nodes.size(); n++) {
    const mlq_node_snapshot_t& node = cluster.nodes[n];
    nodes[n] = (node.partitions & job.partitions) != 0 && node.node_class < by_class.size() &&
                       by_class[node.node_class] != 0 &&
                       (job.nodes_allowed == nullptr || job.nodes_allowed[n] != 0)
                   ? 1
                   : 0;
    if (job.nodes_required != nullptr && job.nodes_required[n] != 0) required++;
  }
  if (required >= job.nodes && required > 0) {
    for (std::size_t n = 0; n < nodes.size(); n++) nodes[n] &= job.nodes_required[n] != 0 ? 1 : 0;
  }
  return nodes;
}

WaitingShape waiting_shape(const mlq_waiting_snapshot_t& job, std::uint32_t required) {
  WaitingShape shape;
  shape.cpus = std::max(job.cpus, 1U);
  shape.nodes = std::max({job.nodes, required, 1U});
  shape.max_nodes = job.max_nodes == 0 ? 0 : std::max(job.max_nodes, shape.nodes);
  shape.cpus_per_task = std::max(job.cpus_per_task, 1U);
  shape.cpus_per_node = job.cpus_per_node;
  shape.whole_nodes = job.whole_nodes;
  shape.gpus = job.gpus;
  shape.gpus_per_node = job.gpus_per_node;
  shape.cpus_per_gpu = job.cpus_per_gpu;
  shape.gpu_types = job.gpu_types;
  return shape;
}

std::vector<NodeRoom> idle_room(const mlq_cluster_snapshot_t& cluster) {
  std::vector<NodeRoom> room;
  room.reserve(cluster.node_count);
  for (std::size_t n = 0; n < cluster.node_count; n++) {
    const mlq_node_snapshot_t& node = cluster.nodes[n];
    NodeRoom& one = room.emplace_back();
    one.cpus = node.cpus;
    one.idle = std::min(node.idle, node.cpus);
    for (std::size_t t = 0; t < cluster.gpu_type_count; t++) one.gpus.add(t, node.gpus[t]);
  }
  return room;
}

std::uint32_t gpu_types_of(const mlq_cluster_snapshot_t& cluster, const std::string& name) {
  if (name.empty()) return any_gpu_type;
  for (std::size_t t = 0; t < cluster.gpu_type_count; t++) {
    if (name == cluster.gpu_types[t]) return 1U << t;
  }
  return 0;
}

Gpus Capacity::gpus_of(const LentCompanion& lent) const {
  const std::uint32_t node = lent.companion->node;
  if (lent.companion->gpus == 0 || node >= cluster_->node_count) return {};
  const std::uint32_t kind = cluster_->nodes[node].node_class;
  const std::uint32_t there = kind < cluster_->class_count ? cluster_->classes[kind].gpu_types : 0;
  std::size_t type = 0;
  while (type < max_gpu_types && (there & lent.gpu_types & 1U << type) == 0) type++;
  return {type, lent.companion->gpus};
}

void Capacity::keep_beside_gpus(std::uint32_t units, const PieceSize& size, std::span<const char> nodes) {
  for (const UnitPiece& piece : pack(units, size, unkept_, nodes)) {
    const std::uint32_t cpus = piece.units * size.unit;
    later_[piece.node].kept += cpus;
    now_[piece.node].kept += cpus;
    useful_[piece.node] += piece.units;
  }
}

void Capacity::keep_for(const mlq_waiting_snapshot_t& job, std::span<LentCompanion> lent, Patience& patience,
                        double now) {
  if (patience.ignored(job.job_id, job.submit_time, now)) return;
  std::uint32_t required = 0;
  const std::vector<char> nodes = waiting_nodes(*cluster_, job, required);
  const std::optional<Placement> place = mlq::place(waiting_shape(job, required), later_, pieces_, nodes);
  patience.could_start_now(job.job_id, place && place->recalled.empty(), now);
  if (!place) return;
  settle_placement(*place, pieces_, later_);
  for (const std::size_t piece : place->recalled) {
    lent[piece_index_[piece]].wanted_by = job.job_id;
    pieces_[piece] = {pieces_[piece].node};
  }
  for (const NodeShare& share : place->taken) {
    now_[share.node].idle -= std::min(now_[share.node].idle, share.cpus);
    now_[share.node].gpus.take(place->gpu_types, share.gpus);
  }
}

void Capacity::read(const mlq_cluster_snapshot_t& cluster, std::span<LentCompanion> lent, Patience& patience,
                    double now) {
  cluster_ = &cluster;
  now_ = idle_room(cluster);
  later_ = now_;
  pieces_.clear();
  piece_index_.clear();
  for (std::size_t i = 0; i < lent.size(); i++) {
    lent[i].wanted_by = 0;
    if (lent[i].companion->node >= now_.size()) continue;
    pieces_.push_back(
        {lent[i].companion->node, static_cast<std::uint32_t>(lent[i].companion->cpus), gpus_of(lent[i])});
    piece_index_.push_back(i);
  }
  for (std::size_t w = 0; w < cluster.waiting_count; w++) keep_for(cluster.waiting[w], lent, patience, now);
  patience.forget_others();
  unkept_ = later_;
  useful_.assign(later_.size(), 0);
}

void Capacity::make(Pools& pools, std::span<const std::uint32_t> capacity, std::size_t most) const {
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> known;
  pools.pools.clear();
  pools.of_node.assign(capacity.size(), SIZE_MAX);
  for (std::size_t n = 0; n < capacity.size(); n++) {
    if (capacity[n] == 0 || cluster_->nodes[n].partitions == 0) continue;
    const auto key = std::make_pair(cluster_->nodes[n].partitions, cluster_->nodes[n].node_class);
    const auto [at, fresh] = known.try_emplace(key, pools.pools.size());
    if (fresh && pools.pools.size() >= most) {
      known.erase(at);  // more kinds of nodes than can be told apart: these are not lent
      continue;
    }
    if (fresh) pools.pools.emplace_back();
    pools.pools[at->second].capacity += capacity[n];
    pools.of_node[n] = at->second;
  }
}

void Capacity::make_pools(std::span<const LentCompanion> lent, std::size_t most) {
  std::vector<std::uint32_t> cpus(later_.size()), gpus(useful_);
  for (std::size_t n = 0; n < cpus.size(); n++)
    cpus[n] = later_[n].idle - std::min(later_[n].idle, later_[n].kept);
  for (const LentCompanion& one : lent) {
    if (one.companion->node >= cpus.size() || one.wanted_by != 0) continue;
    if (one.counts_gpus)
      gpus[one.companion->node] += std::max(1U, one.companion->gpus);
    else
      cpus[one.companion->node] += static_cast<std::uint32_t>(one.companion->cpus);
  }
  make(cpus_, cpus, most);
  make(gpus_, gpus, most);
}

}  // namespace mlq::engine
