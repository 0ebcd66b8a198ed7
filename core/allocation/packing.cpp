// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/packing.hpp"

#include <algorithm>
#include <utility>

namespace mlq {

std::uint32_t Gpus::count(std::uint32_t types) const {
  std::uint32_t sum = 0;
  for (std::size_t t = 0; t < of_.size(); ++t) sum += (types >> t & 1) != 0 ? of_[t] : 0U;
  return sum;
}

void Gpus::add(std::size_t type, std::uint32_t count) {
  if (type < of_.size()) of_[type] = static_cast<std::uint16_t>(std::min(of_[type] + count, 65535U));
}

void Gpus::add(const Gpus& more) {
  for (std::size_t t = 0; t < of_.size(); ++t) add(t, more.of_[t]);
}

Gpus Gpus::take(std::uint32_t types, std::uint32_t count) {
  Gpus taken;
  for (std::size_t t = 0; t < of_.size() && count > 0; ++t) {
    if ((types >> t & 1) == 0) continue;
    const std::uint32_t here = std::min<std::uint32_t>(of_[t], count);
    of_[t] = static_cast<std::uint16_t>(of_[t] - here);
    taken.add(t, here);
    count -= here;
  }
  return taken;
}

namespace {

/// Both dimensions of a place.
struct Amount {
  std::uint32_t cpus = 0, gpus = 0;
  bool covers(const Amount& other) const { return cpus >= other.cpus && gpus >= other.gpus; }
  auto key() const { return std::make_pair(gpus, cpus); }
};

/// One call of place().
class Placing {
 public:
  Placing(const WaitingShape& job, std::span<const NodeRoom> nodes, std::span<const LentPiece> pieces,
          std::span<const char> allowed)
      : job_(job), nodes_(nodes), pieces_(pieces), step_(std::max(job.cpus_per_task, 1U)) {
    lent_.resize(nodes.size());
    here_.resize(nodes.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].node >= nodes.size()) continue;
      lent_[pieces[i].node].cpus += pieces[i].cpus;
      lent_[pieces[i].node].gpus += gpus_of(pieces[i].gpus);
      here_[pieces[i].node].push_back(i);
    }
    order_.reserve(nodes.size());
    for (std::uint32_t n = 0; n < nodes.size(); ++n)
      if (allowed[n] != 0) order_.push_back(n);
  }

  std::optional<Placement> run() {
    const auto now = [&](std::uint32_t n) { return usable(n, idle(n)); };
    if (auto idle_ones = choose(now)) return take(*idle_ones);
    // Nodes on which little has to be recalled first. Where that needs too many nodes, large ones first.
    const auto all = [&](std::uint32_t n) { return usable(n, with_lent(n)); };
    std::vector<std::uint32_t> price(nodes_.size(), 0);
    std::vector<std::size_t> recalled;
    for (const std::uint32_t node : order_) {
      recalled.clear();
      const Amount most = all(node);
      recall(node,
             {std::min(most.cpus, std::max(least().cpus, rounded_up(job_.cpus))),
              std::min(most.gpus, std::max(least().gpus, job_.gpus))},
             recalled);
      for (const std::size_t piece : recalled) price[node] += pieces_[piece].cpus;
    }
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return price[a] != price[b] ? price[a] < price[b] : all(a).key() > all(b).key();
    });
    if (const auto count = prefix(all)) return take(*count);
    if (const auto count = choose(all)) return take(*count);
    return std::nullopt;
  }

 private:
  std::uint32_t gpus_of(const Gpus& gpus) const { return job_.gpus > 0 ? gpus.count(job_.gpu_types) : 0; }
  Amount idle(std::uint32_t node) const { return {nodes_[node].idle, gpus_of(nodes_[node].gpus)}; }
  Amount with_lent(std::uint32_t node) const {
    const Amount now = idle(node);
    return {now.cpus + lent_[node].cpus, now.gpus + lent_[node].gpus};
  }

  /// What the job can use of `room` on a node; nothing where that is less than its least.
  Amount usable(std::uint32_t node, const Amount& room) const {
    Amount most = room;
    if (job_.whole_nodes)
      most.cpus = room.cpus == nodes_[node].cpus ? room.cpus : 0;
    else
      most.cpus = room.cpus / step_ * step_;
    if (job_.gpus_per_node > 0) most.gpus = std::min(most.gpus, job_.gpus_per_node);
    if (job_.cpus_per_gpu > 0) most.gpus = std::min(most.gpus, most.cpus / job_.cpus_per_gpu);
    return most.covers(least()) ? most : Amount{};
  }
  std::uint32_t rounded_up(std::uint32_t cpus) const { return (cpus + step_ - 1) / step_ * step_; }
  std::uint32_t beside(std::uint32_t gpus) const { return rounded_up(gpus * job_.cpus_per_gpu); }
  Amount least() const {
    const std::uint32_t wanted = std::max(job_.cpus_per_node, step_);
    const std::uint32_t gpus = job_.gpus > 0 ? std::max(job_.gpus_per_node, 1U) : 0;
    if (job_.whole_nodes) return {std::max(wanted, gpus * job_.cpus_per_gpu), gpus};
    return {std::max(rounded_up(wanted), beside(gpus)), gpus};
  }

  /// How many nodes from the front of order_ it takes; nothing when that is too many.
  template <typename Usable>
  std::optional<std::size_t> prefix(const Usable& usable_of) {
    std::uint64_t cpus = 0, gpus = 0;
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t node : order_) {
      const Amount more = usable_of(node);
      if (more.cpus == 0) continue;
      cpus += more.cpus;
      gpus += more.gpus;
      kept.push_back(node);
      if (job_.max_nodes != 0 && kept.size() > job_.max_nodes) return std::nullopt;
      if (cpus < job_.cpus || gpus < job_.gpus || kept.size() < job_.nodes) continue;
      chosen_ = std::move(kept);
      return chosen_.size();
    }
    return std::nullopt;
  }

  /// The nodes that offer the most first: in CPUs alone it finds a way whenever there is one.
  template <typename Usable>
  std::optional<std::size_t> choose(const Usable& usable_of) {
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return usable_of(a).key() > usable_of(b).key();
    });
    return prefix(usable_of);
  }

  /// Adds what is still missing of one dimension, a node at a time, as far as `most_of` allows.
  template <typename MostOf>
  void fill(std::vector<Amount>& share, std::uint32_t Amount::*what, std::uint32_t wanted, std::uint32_t step,
            const MostOf& most_of) const {
    std::uint64_t sum = 0;
    for (const Amount& one : share) sum += one.*what;
    for (std::size_t i = 0; i < share.size() && sum < wanted; ++i) {
      const std::uint32_t most = most_of(chosen_[i]).*what;
      if (most <= share[i].*what) continue;
      const auto missing = static_cast<std::uint32_t>(
          std::min<std::uint64_t>((wanted - sum + step - 1) / step * step, most - share[i].*what));
      share[i].*what += missing;
      sum += missing;
    }
  }

  Placement take(std::size_t count) {
    std::vector<Amount> share(count, least());  // each node its least
    for (std::size_t i = 0; i < count; ++i)
      if (job_.whole_nodes) share[i].cpus = nodes_[chosen_[i]].cpus;
    // then what is idle, then what must be recalled
    const auto now = [&](std::uint32_t n) { return usable(n, idle(n)); };
    const auto all = [&](std::uint32_t n) { return usable(n, with_lent(n)); };
    fill(share, &Amount::gpus, job_.gpus, 1, now);
    fill(share, &Amount::gpus, job_.gpus, 1, all);
    for (Amount& one : share)
      if (!job_.whole_nodes) one.cpus = std::max(one.cpus, beside(one.gpus));
    fill(share, &Amount::cpus, job_.cpus, step_, now);
    fill(share, &Amount::cpus, job_.cpus, step_, all);
    Placement placement;
    placement.gpu_types = job_.gpu_types;
    for (std::size_t i = 0; i < count; ++i) {
      placement.taken.push_back({chosen_[i], share[i].cpus, share[i].gpus});
      recall(chosen_[i], share[i], placement.recalled);
    }
    std::sort(placement.recalled.begin(), placement.recalled.end());
    return placement;
  }

  Amount amount_of(std::size_t piece) const { return {pieces_[piece].cpus, gpus_of(pieces_[piece].gpus)}; }

  /// The smallest piece that covers what idle CPUs and GPUs lack; else the largest ones until it is covered,
  /// those with GPUs while GPUs are missing.
  void recall(std::uint32_t node, const Amount& share, std::vector<std::size_t>& out) const {
    Amount room = idle(node);
    std::vector<std::size_t> here;
    const std::size_t before = out.size();
    if (!room.covers(share)) here = here_[node];
    while (!room.covers(share) && !here.empty()) {
      const bool by_gpus = room.gpus < share.gpus;
      std::stable_sort(here.begin(), here.end(), [&](std::size_t a, std::size_t b) {
        const Amount x = amount_of(a), y = amount_of(b);
        return by_gpus ? x.key() < y.key() : x.cpus < y.cpus;
      });
      auto piece = std::find_if(here.begin(), here.end(), [&](std::size_t i) {
        const Amount more = amount_of(i);
        return Amount{room.cpus + more.cpus, room.gpus + more.gpus}.covers(share);
      });
      if (piece == here.end()) --piece;
      const Amount back = amount_of(*piece);
      room = {room.cpus + back.cpus, room.gpus + back.gpus};
      out.push_back(*piece);
      here.erase(piece);
    }
    // one for GPUs and one for CPUs may make an earlier one idle
    for (std::size_t i = before; i < out.size();) {
      const Amount less = amount_of(out[i]);
      const Amount without{room.cpus - less.cpus, room.gpus - less.gpus};
      if (!without.covers(share)) {
        ++i;
        continue;
      }
      room = without;
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  const WaitingShape& job_;
  std::span<const NodeRoom> nodes_;
  std::span<const LentPiece> pieces_;
  std::uint32_t step_;
  std::vector<Amount> lent_;
  std::vector<std::vector<std::size_t>> here_;  ///< pieces by node
  std::vector<std::uint32_t> order_, chosen_;
};

/// Units of that size that fit on the node.
std::uint32_t units_on(const NodeRoom& node, const PieceSize& size) {
  const std::uint32_t gpus = size.gpus > 0 ? node.gpus.count(size.gpu_types) / size.gpus : UINT32_MAX;
  if (size.whole_nodes) {
    const bool whole = node.cpus > 0 && node.idle == node.cpus && node.kept == 0;
    return whole ? std::min(gpus, 1U) : 0;
  }
  const std::uint32_t idle = size.gpus > 0 ? node.idle : node.idle - std::min(node.idle, node.kept);
  return std::min(gpus, idle / std::max(size.unit, 1U));
}

void take_units(NodeRoom& node, const PieceSize& size, std::uint32_t units) {
  if (size.whole_nodes) {
    node.idle = 0;
    node.gpus.clear();
    return;
  }
  const std::uint32_t cpus = units * std::max(size.unit, 1U);
  node.idle -= cpus;
  if (size.gpus == 0) return;
  node.kept -= std::min(node.kept, cpus);
  node.gpus.take(size.gpu_types, units * size.gpus);
}

}  // namespace

std::optional<Placement> place(const WaitingShape& job, std::span<const NodeRoom> nodes,
                               std::span<const LentPiece> pieces, std::span<const char> allowed) {
  return Placing(job, nodes, pieces, allowed).run();
}

void settle_placement(const Placement& placement, std::span<const LentPiece> pieces,
                      std::span<NodeRoom> nodes) {
  for (const std::size_t piece : placement.recalled) {
    nodes[pieces[piece].node].idle += pieces[piece].cpus;
    nodes[pieces[piece].node].gpus.add(pieces[piece].gpus);
  }
  for (const NodeShare& share : placement.taken) {
    nodes[share.node].idle -= share.cpus;
    nodes[share.node].gpus.take(placement.gpu_types, share.gpus);
  }
}

std::vector<UnitPiece> pack(std::uint32_t units, PieceSize size, std::span<NodeRoom> nodes,
                            std::span<const char> allowed) {
  std::vector<std::uint32_t> units_of(nodes.size(), 0), order;
  const auto room = [&](std::uint32_t node) { return units_of[node]; };
  order.reserve(nodes.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    if (allowed[n] != 0) units_of[n] = units_on(nodes[n], size);
    if (units_of[n] > 0) order.push_back(n);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return room(a) > room(b); });
  std::vector<UnitPiece> pieces;
  for (std::size_t i = 0; i < order.size() && units > 0; ++i) {
    std::uint32_t node = order[i];
    if (room(node) > units) {  // the rest: to the smallest node that holds it
      const auto fits = std::partition_point(order.begin() + static_cast<std::ptrdiff_t>(i), order.end(),
                                             [&](std::uint32_t n) { return room(n) >= units; });
      node = *(fits - 1);
    }
    const std::uint32_t taken = std::min(room(node), units);
    pieces.push_back({node, taken});
    take_units(nodes[node], size, taken);
    units -= taken;
  }
  return pieces;
}

}  // namespace mlq
