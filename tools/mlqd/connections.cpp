// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/connections.hpp"

#include <sys/socket.h>

namespace mlq::mlqd {

std::size_t Connections::open(Entry& entry) {
  if (entry.trusted) return 0;
  const std::lock_guard lock(mutex_);
  std::size_t shut = 0;
  if (entry.peer.local && ++by_uid_[entry.peer.uid] > per_uid_) {
    // the HTTP library sees the end of the stream and closes it
    shutdown(entry.socket, SHUT_RDWR);
    ++shut;
  }
  if (fresh_.size() + known_.size() + busy_.size() >= keep_) {
    std::list<Entry*>& from = fresh_.empty() ? known_ : fresh_;
    if (!from.empty()) {
      shutdown(from.front()->socket, SHUT_RDWR);
      // once is enough: at the end of its list while it goes away
      from.splice(from.end(), from, from.begin());
      ++shut;
    }
  }
  entry.position = fresh_.insert(fresh_.end(), &entry);
  return shut;
}

void Connections::close(Entry& entry) {
  if (entry.trusted) return;
  const std::lock_guard lock(mutex_);
  list_of(entry).erase(entry.position);
  if (!entry.peer.local) return;
  const auto count = by_uid_.find(entry.peer.uid);
  if (count != by_uid_.end() && --count->second == 0) by_uid_.erase(count);
}

void Connections::move(Entry& entry, Entry::Place place) {
  if (entry.trusted) return;
  const std::lock_guard lock(mutex_);
  std::list<Entry*>& from = list_of(entry);
  entry.place = place;
  std::list<Entry*>& to = list_of(entry);
  to.splice(to.end(), from, entry.position);
}

void Connections::set_busy(Entry& entry) {
  move(entry, Entry::Place::busy);
}

void Connections::set_idle(Entry& entry) {
  move(entry, Entry::Place::known);
}

}  // namespace mlq::mlqd
