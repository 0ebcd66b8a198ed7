// SPDX-License-Identifier: GPL-2.0-or-later
// Small clusters drawn at random, for tests of placing and packing.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/allocation/packing.hpp"

struct PackingCase {
  mlq::WaitingShape job;
  std::vector<mlq::NodeRoom> nodes;
  std::vector<mlq::LentPiece> pieces;
  std::vector<char> allowed;
};

inline std::uint32_t below(std::mt19937& random, unsigned n) {
  return static_cast<std::uint32_t>(random() % n);
}

/// One to four nodes of up to `most` CPUs, with GPUs of two types where `gpus`; no job yet.
inline PackingCase draw_cluster(std::mt19937& random, unsigned most, bool gpus) {
  PackingCase c;
  const std::uint32_t count = 1 + below(random, 4);
  for (std::uint32_t n = 0; n < count; ++n) {
    mlq::NodeRoom room{1 + below(random, most), 0};
    std::uint32_t left = room.cpus;
    while (left > 0 && below(random, 2) == 0) {
      mlq::LentPiece piece{n, 1 + below(random, left)};
      if (gpus) piece.gpus = mlq::Gpus(below(random, 2), below(random, 3));
      c.pieces.push_back(piece);
      left -= piece.cpus;
    }
    room.idle = below(random, left + 1);
    for (std::size_t type = 0; gpus && type < 2; ++type) room.gpus.add(type, below(random, 3));
    c.nodes.push_back(room);
    c.allowed.push_back(below(random, 5) != 0);
  }
  return c;
}
