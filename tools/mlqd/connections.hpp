// SPDX-License-Identifier: GPL-2.0-or-later
// Who is connected, and which idle connection goes when there are too many: whoever never asked for anything
// that was his to ask, the longest silent one first. So idle connections cannot keep others out.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>

#include "tools/mlqd/http.hpp"

namespace mlq::mlqd {

class Connections {
 public:
  struct Entry {
    int socket = -1;
    Peer peer;
    bool trusted = false;  ///< never closed to make room
    enum class Place : std::uint8_t { fresh, known, busy } place = Place::fresh;
    std::list<Entry*>::iterator position;
  };

  /// keep: how many connections of untrusted peers may stay; per_uid: of one local user.
  Connections(std::size_t keep, std::size_t per_uid) : keep_(keep), per_uid_(per_uid) {}

  /// Takes a connection in; may shut another one, or this one, down. The number shut down.
  std::size_t open(Entry& entry);
  void close(Entry& entry);

  void set_busy(Entry& entry);  ///< a request that was let through is under way
  void set_idle(Entry& entry);  ///< it is over: now the connection is a known one

 private:
  std::list<Entry*>& list_of(const Entry& entry) {
    return entry.place == Entry::Place::fresh ? fresh_ : entry.place == Entry::Place::known ? known_ : busy_;
  }
  void move(Entry& entry, Entry::Place place);

  const std::size_t keep_;
  const std::size_t per_uid_;
  std::mutex mutex_;
  std::list<Entry*> fresh_, known_, busy_;  ///< of untrusted peers, the longest silent first
  std::unordered_map<std::uint32_t, std::size_t> by_uid_;
};

}  // namespace mlq::mlqd
