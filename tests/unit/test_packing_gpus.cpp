// SPDX-License-Identifier: GPL-2.0-or-later
// Placing and packing where GPUs count as well as CPUs.
#include <algorithm>
#include <random>

#include "core/allocation/packing.hpp"
#include "tests/unit/check_cpp.hpp"
#include "tests/unit/packing_case.hpp"
#include "tests/unit/test_allocation.hpp"

using namespace mlq;

namespace {

using Case = PackingCase;

Case draw(std::mt19937& random) {
  const auto below = [&](unsigned n) { return ::below(random, n); };
  Case c = draw_cluster(random, 6, true);
  c.job.cpus = 1 + below(6);
  c.job.nodes = 1 + below(2);
  c.job.gpus = 1 + below(5);
  c.job.gpus_per_node = below(3) == 0 ? 1 + below(2) : 0;
  c.job.cpus_per_task = 1 + below(2);
  c.job.cpus_per_gpu = below(3);
  c.job.whole_nodes = below(5) == 0;
  c.job.gpu_types = below(3) == 0 ? any_gpu_type : 1U << below(2);
  return c;
}

struct Room {
  std::uint32_t cpus, gpus;
};

Room room_of(const Case& c, std::size_t node, std::span<const std::size_t> back) {
  Room room{c.nodes[node].idle, c.nodes[node].gpus.count(c.job.gpu_types)};
  for (const std::size_t i : back) {
    if (c.pieces[i].node != node) continue;
    room.cpus += c.pieces[i].cpus;
    room.gpus += c.pieces[i].gpus.count(c.job.gpu_types);
  }
  return room;
}

/// Whether shares exist: on each node by trying every number of GPUs, then as many CPUs as there are.
bool possible(const Case& c, bool with_lent) {
  std::vector<std::size_t> back;
  for (std::size_t i = 0; with_lent && i < c.pieces.size(); ++i) back.push_back(i);
  std::uint32_t cpus = 0, gpus = 0, count = 0;
  for (std::size_t n = 0; n < c.nodes.size(); ++n) {
    const Room room = room_of(c, n, back);
    const std::uint32_t step = c.job.cpus_per_task;
    std::uint32_t have = room.cpus / step * step;
    if (c.job.whole_nodes) have = room.cpus == c.nodes[n].cpus ? room.cpus : 0;
    std::uint32_t most = 0;
    for (std::uint32_t g = std::max(c.job.gpus_per_node, 1U); g <= room.gpus; ++g) {
      const bool even = c.job.gpus_per_node == 0 || g == c.job.gpus_per_node;
      std::uint32_t beside = g * c.job.cpus_per_gpu;
      if (!c.job.whole_nodes) beside = (beside + step - 1) / step * step;
      if (even && have >= std::max(beside, step)) most = g;
    }
    if (c.allowed[n] == 0 || most == 0) continue;
    cpus += have;
    gpus += most;
    ++count;
  }
  return cpus >= c.job.cpus && gpus >= c.job.gpus && count >= c.job.nodes;
}

void check_valid(const Case& c, const Placement& placement) {
  std::uint32_t cpus = 0, gpus = 0;
  for (const NodeShare& share : placement.taken) {
    const Room room = room_of(c, share.node, placement.recalled);
    ck_assert(c.allowed[share.node] != 0);
    ck_assert_uint_le(share.cpus, room.cpus);
    ck_assert_uint_le(share.gpus, room.gpus);
    ck_assert_uint_ge(share.gpus, std::max(c.job.gpus_per_node, 1U));
    ck_assert_uint_ge(share.cpus, share.gpus * c.job.cpus_per_gpu);
    ck_assert(c.job.gpus_per_node == 0 || share.gpus == c.job.gpus_per_node);
    cpus += share.cpus;
    gpus += share.gpus;
  }
  ck_assert_uint_ge(cpus, c.job.cpus);
  ck_assert_uint_ge(gpus, c.job.gpus);
  ck_assert_uint_ge(placement.taken.size(), c.job.nodes);
  for (const std::size_t piece : placement.recalled) {  // nothing that is not needed
    const auto share = std::find_if(placement.taken.begin(), placement.taken.end(),
                                    [&](const NodeShare& s) { return s.node == c.pieces[piece].node; });
    ck_assert(share != placement.taken.end());
    const Room room = room_of(c, share->node, placement.recalled);
    ck_assert(room.cpus - c.pieces[piece].cpus < share->cpus ||
              room.gpus - c.pieces[piece].gpus.count(c.job.gpu_types) < share->gpus);
  }
}

START_TEST(places_gpus_wherever_they_can_be_placed) {
  std::mt19937 random(5);
  int idle = 0, recalled = 0, none = 0;
  for (int i = 0; i < 40000; ++i) {
    const Case c = draw(random);
    const auto placement = place(c.job, c.nodes, c.pieces, c.allowed);
    ck_assert_int_eq(placement.has_value(), possible(c, true));
    if (!placement) {
      ++none;
      continue;
    }
    check_valid(c, *placement);
    ck_assert_int_eq(placement->recalled.empty(), possible(c, false));
    placement->recalled.empty() ? ++idle : ++recalled;
    std::vector<NodeRoom> after(c.nodes);
    settle_placement(*placement, c.pieces, after);
    for (std::size_t n = 0; n < after.size(); ++n) {
      std::uint32_t gpus = room_of(c, n, placement->recalled).gpus;
      for (const NodeShare& share : placement->taken) gpus -= share.node == n ? share.gpus : 0;
      ck_assert_uint_eq(after[n].gpus.count(c.job.gpu_types), gpus);
      ck_assert_uint_le(after[n].idle, after[n].cpus);
    }
  }
  ck_assert_int_gt(idle, 500);
  ck_assert_int_gt(recalled, 500);
  ck_assert_int_gt(none, 1000);
}
END_TEST

START_TEST(packs_no_more_units_than_have_both) {
  std::mt19937 random(3);
  std::uint32_t all = 0;
  for (int i = 0; i < 20000; ++i) {
    Case c = draw(random);
    const std::uint32_t types = random() % 2 == 0 ? any_gpu_type : 2U;
    const PieceSize size{1 + static_cast<std::uint32_t>(random() % 2), random() % 5 == 0,
                         1 + static_cast<std::uint32_t>(random() % 2), types};
    const auto units = static_cast<std::uint32_t>(random() % 6);
    std::uint32_t fits = 0;
    for (std::size_t n = 0; n < c.nodes.size(); ++n) {
      const std::uint32_t gpus = c.nodes[n].gpus.count(types) / size.gpus;
      std::uint32_t room = std::min(gpus, c.nodes[n].idle / size.unit);
      if (size.whole_nodes) room = c.nodes[n].idle == c.nodes[n].cpus ? std::min(gpus, 1U) : 0;
      fits += c.allowed[n] != 0 ? room : 0;
    }
    std::vector<NodeRoom> after(c.nodes);
    std::uint32_t sum = 0, taken = 0;
    for (const UnitPiece& piece : pack(units, size, after, c.allowed)) sum += piece.units;
    ck_assert_uint_eq(sum, std::min(units, fits));
    for (std::size_t n = 0; n < after.size() && !size.whole_nodes; ++n) {
      taken += c.nodes[n].gpus.count() - after[n].gpus.count();
      ck_assert_uint_eq((c.nodes[n].idle - after[n].idle) * size.gpus,
                        (c.nodes[n].gpus.count() - after[n].gpus.count()) * size.unit);
      if (types == 2U) ck_assert_uint_eq(after[n].gpus.count(1), c.nodes[n].gpus.count(1));
    }
    if (!size.whole_nodes) ck_assert_uint_eq(taken, sum * size.gpus);
    all += sum;
  }
  ck_assert_uint_gt(all, 5000);
}
END_TEST

START_TEST(kept_cpus_are_for_units_with_gpus) {
  const std::vector<char> allowed{1};
  const std::vector<NodeRoom> node{{8, 8, Gpus(3, 2), 6}};
  std::vector<NodeRoom> room(node);
  ck_assert_uint_eq(pack(8, {1}, room, allowed).at(0).units, 2);
  ck_assert_uint_eq(room[0].idle, 6);
  ck_assert_uint_eq(pack(8, {1}, room, allowed).size(), 0);
  ck_assert_uint_eq(pack(8, {3, false, 1}, room, allowed).at(0).units, 2);
  ck_assert_uint_eq(room[0].idle + room[0].kept + room[0].gpus.count(), 0);
  room = node;
  ck_assert_uint_eq(pack(1, {1, true}, room, allowed).size(), 0);  // nor is it taken whole
  room[0].kept = 0;
  ck_assert_uint_eq(pack(1, {1, true, 3}, room, allowed).size(), 0);
  ck_assert_uint_eq(pack(1, {1, true, 2}, room, allowed).size(), 1);
  ck_assert_uint_eq(room[0].idle + room[0].gpus.count(), 0);
}
END_TEST

}  // namespace

TCase* gpu_packing_cases() {
  TCase* tests = tcase_create("packing of GPUs");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, places_gpus_wherever_they_can_be_placed);
  tcase_add_test(tests, packs_no_more_units_than_have_both);
  tcase_add_test(tests, kept_cpus_are_for_units_with_gpus);
  return tests;
}
