// SPDX-License-Identifier: GPL-2.0-or-later
// What agents, and a worker and its agent, tell each other: one JSON object a line. Whoever sent it, a
// message that was parsed holds only known kinds and values in their ranges.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlq::run {

enum class Kind {
  hello,      ///< member -> head: nonce
  challenge,  ///< head -> member: nonce, proof
  join,       ///< member -> head: proof, ticket, job, host, cores, gpus
  welcome,    ///< head -> member: command, environment, directory, flag = label, seconds = grace
  start,      ///< head -> member: generation, rank (first), ranks, world, address, port, units, cores, flag =
              ///< joining
  reform,    ///< head -> member -> worker: as start; flag = a member was lost; ranks 0: leave; seconds = lead
  signal,    ///< head -> member: number
  stop,      ///< head -> member: number = first signal, seconds = grace
  leave,     ///< head -> member: end your workers and exit
  ping,      ///< both ways
  attached,  ///< worker -> member -> head: re-forms in its process; rank = local
  ready,     ///< worker -> member -> head: a joining worker waits for its first reform
  formed,    ///< worker -> member -> head: generation, seconds = without progress
  exited,    ///< member -> head: rank, generation, status
  stopped,   ///< member -> head: no worker is left
  output,    ///< member -> head: rank, number = 1 or 2, text: bytes as text_of_bytes() writes them
  leaving,   ///< member -> head: text = why
};

inline constexpr std::size_t kLineMax = std::size_t{8}
                                        << 20;      ///< bytes of a line between agents that know each other
inline constexpr std::size_t kHandshakeMax = 4096;  ///< before that, and between a worker and its agent
inline constexpr std::int64_t kRanksMax = 1 << 20;

struct Message {
  Kind kind = Kind::ping;
  std::int64_t generation = 0, rank = 0, ranks = 0, world = 0, port = 0, units = 0, cores = 0, gpus = 0;
  std::int64_t local_rank = 0, number = 0, status = 0, ticket = 0, job = 0;
  double seconds = 0;
  bool flag = false;
  std::string nonce, proof, address, host, directory, text;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
};

/// Nothing, with what is wrong in error, for anything but a message.
std::optional<Message> parse_message(std::string_view line, std::string& error);

/// With its line feed. Members that have their default are left out.
std::string to_line(const Message& message);

/// Bytes as text of the code points U+0001 to U+00FF, U+0100 for a zero byte, and back; others become '?'.
std::string text_of_bytes(std::string_view bytes);
std::string bytes_of_text(std::string_view text);

/// Cuts whole lines off the front of a buffer. False when the rest, or a line, is longer than `most`.
bool cut_messages(std::string& buffer, std::size_t most, std::vector<std::string>& lines);

}  // namespace mlq::run
