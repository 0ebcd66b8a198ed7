// SPDX-License-Identifier: GPL-2.0-or-later
// Placing and packing against every possibility of small clusters.
#include <algorithm>
#include <functional>
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
  Case c = draw_cluster(random, 5, false);
  c.job.cpus = 1 + below(10);
  c.job.nodes = 1 + below(3);
  c.job.max_nodes = below(2) == 0 ? 0 : c.job.nodes + below(2);
  c.job.cpus_per_task = 1 + below(3);
  c.job.cpus_per_node = below(4);
  c.job.whole_nodes = below(4) == 0;
  return c;
}

/// CPUs that the job can have on a node of which `room` are free.
std::uint32_t usable(const Case& c, std::size_t node, std::uint32_t room) {
  const std::uint32_t step = c.job.cpus_per_task, wanted = std::max(c.job.cpus_per_node, step);
  if (c.job.whole_nodes) return room == c.nodes[node].cpus && room >= wanted ? room : 0;
  const std::uint32_t least = (wanted + step - 1) / step * step;
  return room / step * step >= least ? room / step * step : 0;
}

/// Whether some set of nodes serves the job, with or without what is lent.
bool possible(const Case& c, bool with_lent) {
  for (unsigned set = 1; set < 1U << c.nodes.size(); ++set) {
    std::uint32_t cpus = 0, count = 0;
    bool good = true;
    for (std::size_t n = 0; n < c.nodes.size(); ++n) {
      if ((set >> n & 1) == 0) continue;
      std::uint32_t room = c.nodes[n].idle;
      for (const LentPiece& piece : c.pieces) room += with_lent && piece.node == n ? piece.cpus : 0;
      const std::uint32_t had = usable(c, n, room);
      good = good && had > 0 && c.allowed[n] != 0;
      cpus += had;
      ++count;
    }
    if (good && cpus >= c.job.cpus && count >= c.job.nodes &&
        (c.job.max_nodes == 0 || count <= c.job.max_nodes))
      return true;
  }
  return false;
}

void check_valid(const Case& c, const Placement& placement) {
  std::vector<std::uint32_t> room(c.nodes.size());
  for (std::size_t n = 0; n < room.size(); ++n) room[n] = c.nodes[n].idle;
  for (const std::size_t piece : placement.recalled) room[c.pieces[piece].node] += c.pieces[piece].cpus;
  ck_assert(std::is_sorted(placement.recalled.begin(), placement.recalled.end()));
  ck_assert(std::adjacent_find(placement.recalled.begin(), placement.recalled.end()) ==
            placement.recalled.end());
  std::uint32_t cpus = 0;
  std::vector<char> used(c.nodes.size(), 0);
  for (const NodeShare& share : placement.taken) {
    ck_assert(c.allowed[share.node] != 0 && used[share.node] == 0);
    used[share.node] = 1;
    ck_assert_uint_le(share.cpus, room[share.node]);
    ck_assert_uint_ge(share.cpus, std::max(c.job.cpus_per_node, c.job.cpus_per_task));
    ck_assert(c.job.whole_nodes ? share.cpus == c.nodes[share.node].cpus
                                : share.cpus % c.job.cpus_per_task == 0);
    cpus += share.cpus;
  }
  ck_assert_uint_ge(cpus, c.job.cpus);
  ck_assert_uint_ge(placement.taken.size(), c.job.nodes);
  ck_assert(c.job.max_nodes == 0 || placement.taken.size() <= c.job.max_nodes);
  // nothing is recalled that is not needed
  for (const std::size_t piece : placement.recalled) {
    const std::uint32_t node = c.pieces[piece].node;
    const auto share = std::find_if(placement.taken.begin(), placement.taken.end(),
                                    [&](const NodeShare& s) { return s.node == node; });
    ck_assert(share != placement.taken.end());
    ck_assert_uint_lt(room[node] - c.pieces[piece].cpus, share->cpus);
  }
}

START_TEST(places_exactly_what_can_be_placed) {
  std::mt19937 random(7);
  int idle = 0, recalled = 0, none = 0;
  for (int i = 0; i < 20000; ++i) {
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
    for (const NodeRoom& room : after) ck_assert_uint_le(room.idle, room.cpus);
  }
  ck_assert_int_gt(idle, 500);
  ck_assert_int_gt(recalled, 500);
  ck_assert_int_gt(none, 1000);
}
END_TEST

START_TEST(recalls_one_small_piece_rather_than_a_large_one) {
  const std::vector<NodeRoom> nodes{{8, 0}, {8, 1}};
  const std::vector<LentPiece> pieces{{1, 4}, {1, 2}, {0, 6}};
  const std::vector<char> allowed{1, 1};
  const auto placement = place({.cpus = 3}, nodes, pieces, allowed);
  ck_assert(placement.has_value());
  ck_assert_uint_eq(placement->recalled.size(), 1);
  ck_assert_uint_eq(placement->recalled[0], 1);
}
END_TEST

/// Fewest pieces for `units` on rooms, by trying every subset.
std::size_t fewest(const std::vector<std::uint32_t>& rooms, std::uint32_t units) {
  std::size_t best = 99;
  for (unsigned set = 0; set < 1U << rooms.size(); ++set) {
    std::uint32_t sum = 0;
    std::size_t count = 0;
    for (std::size_t n = 0; n < rooms.size(); ++n)
      if ((set >> n & 1) != 0) sum += rooms[n], ++count;
    if (sum >= units) best = std::min(best, count);
  }
  return best;
}

START_TEST(packs_all_that_fits_in_the_fewest_pieces) {
  std::mt19937 random(11);
  for (int i = 0; i < 20000; ++i) {
    const Case c = draw(random);
    const PieceSize size{1 + static_cast<std::uint32_t>(random() % 3), random() % 4 == 0};
    const auto units = static_cast<std::uint32_t>(random() % 8);
    std::vector<std::uint32_t> rooms;
    std::uint32_t fits = 0;
    for (std::size_t n = 0; n < c.nodes.size(); ++n) {
      std::uint32_t room = c.nodes[n].idle / size.unit;
      if (size.whole_nodes) room = c.nodes[n].idle == c.nodes[n].cpus ? 1 : 0;
      rooms.push_back(c.allowed[n] != 0 ? room : 0);
      fits += rooms.back();
    }
    std::vector<NodeRoom> after(c.nodes);
    const std::vector<UnitPiece> pieces = pack(units, size, after, c.allowed);
    std::uint32_t sum = 0;
    std::vector<NodeRoom> expected(c.nodes);
    for (const UnitPiece& piece : pieces) {
      ck_assert_uint_gt(piece.units, 0);
      ck_assert_uint_le(piece.units, rooms[piece.node]);
      sum += piece.units;
      expected[piece.node].idle -= size.whole_nodes ? expected[piece.node].idle : piece.units * size.unit;
    }
    ck_assert_uint_eq(sum, std::min(units, fits));
    ck_assert_uint_eq(pieces.size(), fewest(rooms, sum));
    for (std::size_t n = 0; n < after.size(); ++n) ck_assert_uint_eq(after[n].idle, expected[n].idle);
  }
}
END_TEST

START_TEST(the_last_piece_fills_a_node_well) {
  std::vector<NodeRoom> nodes{{8, 8}, {8, 3}, {8, 6}, {8, 2}};
  const std::vector<char> allowed(4, 1);
  const std::vector<UnitPiece> pieces = pack(10, {1, false}, nodes, allowed);
  ck_assert_uint_eq(pieces.size(), 2);
  ck_assert_uint_eq(pieces[0].node, 0);
  ck_assert_uint_eq(pieces[1].node, 3);
  ck_assert_uint_eq(pieces[1].units, 2);
}
END_TEST

}  // namespace

TCase* packing_cases() {
  TCase* tests = tcase_create("packing");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, places_exactly_what_can_be_placed);
  tcase_add_test(tests, recalls_one_small_piece_rather_than_a_large_one);
  tcase_add_test(tests, packs_all_that_fits_in_the_fewest_pieces);
  tcase_add_test(tests, the_last_piece_fills_a_node_well);
  return tests;
}
