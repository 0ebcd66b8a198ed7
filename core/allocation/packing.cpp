// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/packing.hpp"

#include <algorithm>
#include <numeric>

namespace mlq {

namespace {

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
      lent_[pieces[i].node] += pieces[i].cpus;
      here_[pieces[i].node].push_back(i);
    }
    order_.reserve(nodes.size());
    for (std::uint32_t n = 0; n < nodes.size(); ++n)
      if (allowed[n] != 0) order_.push_back(n);
  }

  std::optional<Placement> run() {
    if (auto idle = choose([&](std::uint32_t n) { return usable(n, nodes_[n].idle); })) return take(*idle);
    // Nodes on which little has to be recalled first. Where that needs too many nodes, large ones first.
    const auto all = [&](std::uint32_t n) { return usable(n, nodes_[n].idle + lent_[n]); };
    std::vector<std::uint32_t> price(nodes_.size(), 0);
    std::vector<std::size_t> recalled;
    for (const std::uint32_t node : order_) {
      recalled.clear();
      recall(node, std::min(all(node), std::max(least(), rounded_up(job_.cpus))), recalled);
      for (const std::size_t piece : recalled) price[node] += pieces_[piece].cpus;
    }
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return price[a] != price[b] ? price[a] < price[b] : all(a) > all(b);
    });
    if (const auto count = prefix(all)) return take(*count);
    if (const auto count = choose(all)) return take(*count);
    return std::nullopt;
  }

 private:
  /// What the job can use of `room` CPUs on a node.
  std::uint32_t usable(std::uint32_t node, std::uint32_t room) const {
    if (job_.whole_nodes) return room == nodes_[node].cpus && room >= least() ? room : 0;
    const std::uint32_t steps = room / step_ * step_;
    return steps >= least() ? steps : 0;
  }
  std::uint32_t rounded_up(std::uint32_t cpus) const { return (cpus + step_ - 1) / step_ * step_; }
  std::uint32_t least() const {
    const std::uint32_t wanted = std::max(job_.cpus_per_node, step_);
    return job_.whole_nodes ? wanted : rounded_up(wanted);
  }

  /// How many nodes from the front of order_ it takes; nothing when that is too many.
  template <typename Usable>
  std::optional<std::size_t> prefix(const Usable& usable_of) {
    std::uint64_t cpus = 0;
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t node : order_) {
      const std::uint32_t more = usable_of(node);
      if (more == 0) continue;
      cpus += more;
      kept.push_back(node);
      if (job_.max_nodes != 0 && kept.size() > job_.max_nodes) return std::nullopt;
      if (cpus < job_.cpus || kept.size() < job_.nodes) continue;
      chosen_ = std::move(kept);
      return chosen_.size();
    }
    return std::nullopt;
  }

  /// The nodes that offer the most first: finds a way whenever there is one.
  template <typename Usable>
  std::optional<std::size_t> choose(const Usable& usable_of) {
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return usable_of(a) > usable_of(b); });
    return prefix(usable_of);
  }

  Placement take(std::size_t count) {
    std::vector<std::uint32_t> share(count, 0);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {  // each node its least
      const std::uint32_t node = chosen_[i];
      share[i] = job_.whole_nodes ? nodes_[node].cpus : least();
      sum += share[i];
    }
    for (const bool lent : {false, true}) {  // then idle CPUs, then those that must be recalled
      for (std::size_t i = 0; i < count && sum < job_.cpus; ++i) {
        const std::uint32_t node = chosen_[i];
        const std::uint32_t most = usable(node, nodes_[node].idle + (lent ? lent_[node] : 0));
        if (most <= share[i]) continue;
        const auto missing = static_cast<std::uint32_t>(
            std::min<std::uint64_t>((job_.cpus - sum + step_ - 1) / step_ * step_, most - share[i]));
        share[i] += missing;
        sum += missing;
      }
    }
    Placement placement;
    for (std::size_t i = 0; i < count; ++i) {
      placement.taken.push_back({chosen_[i], share[i]});
      recall(chosen_[i], share[i], placement.recalled);
    }
    std::sort(placement.recalled.begin(), placement.recalled.end());
    return placement;
  }

  /// The smallest piece that covers what idle CPUs lack; else the largest ones until it is covered.
  void recall(std::uint32_t node, std::uint32_t share, std::vector<std::size_t>& out) const {
    std::uint32_t room = nodes_[node].idle;
    std::vector<std::size_t> here;
    if (room < share) here = here_[node];
    std::stable_sort(here.begin(), here.end(),
                     [&](std::size_t a, std::size_t b) { return pieces_[a].cpus < pieces_[b].cpus; });
    while (room < share && !here.empty()) {
      auto piece = std::find_if(here.begin(), here.end(),
                                [&](std::size_t i) { return room + pieces_[i].cpus >= share; });
      if (piece == here.end()) --piece;
      room += pieces_[*piece].cpus;
      out.push_back(*piece);
      here.erase(piece);
    }
  }

  const WaitingShape& job_;
  std::span<const NodeRoom> nodes_;
  std::span<const LentPiece> pieces_;
  std::uint32_t step_;
  std::vector<std::uint32_t> lent_;
  std::vector<std::vector<std::size_t>> here_;  ///< pieces by node
  std::vector<std::uint32_t> order_, chosen_;
};

}  // namespace

std::optional<Placement> place(const WaitingShape& job, std::span<const NodeRoom> nodes,
                               std::span<const LentPiece> pieces, std::span<const char> allowed) {
  return Placing(job, nodes, pieces, allowed).run();
}

void settle_placement(const Placement& placement, std::span<const LentPiece> pieces,
                      std::span<NodeRoom> nodes) {
  for (const std::size_t piece : placement.recalled) nodes[pieces[piece].node].idle += pieces[piece].cpus;
  for (const NodeShare& share : placement.taken) nodes[share.node].idle -= share.cpus;
}

std::vector<UnitPiece> pack(std::uint32_t units, PieceSize size, std::span<NodeRoom> nodes,
                            std::span<const char> allowed) {
  const std::uint32_t unit = std::max(size.unit, 1U);
  const auto room = [&](std::uint32_t node) -> std::uint32_t {
    if (!size.whole_nodes) return nodes[node].idle / unit;
    return nodes[node].cpus > 0 && nodes[node].idle == nodes[node].cpus ? 1 : 0;
  };
  std::vector<std::uint32_t> order;
  order.reserve(nodes.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n)
    if (allowed[n] != 0 && room(n) > 0) order.push_back(n);
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
    nodes[node].idle -= size.whole_nodes ? nodes[node].idle : taken * unit;
    units -= taken;
  }
  return pieces;
}

}  // namespace mlq
