// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/worker_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tools/mlq/run/proof.hpp"

namespace mlq::run {
namespace {

constexpr std::size_t kPeersMax = 4096;

bool same_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == getuid() || peer.uid == 0);
}

}  // namespace

WorkerSocket::WorkerSocket(Loop& loop, Take take) : loop_(loop), take_(std::move(take)) {
  const std::string name = "mlq-run-" + random_hex(16);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // the zero byte before it makes it abstract
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0 || bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 128) != 0) {
    if (listener_ >= 0) close(listener_);
    listener_ = -1;
    return;  // the training runs; it only cannot re-form in its processes
  }
  name_ = "@" + name;
  loop_.watch(listener_, POLLIN, [this](short) { accept_one(); });
}

WorkerSocket::~WorkerSocket() {
  forget_all();
  if (listener_ >= 0) {
    loop_.unwatch(listener_);
    close(listener_);
  }
}

void WorkerSocket::forget_all() {
  while (!peers_.empty()) drop(peers_.begin()->first);
}

void WorkerSocket::accept_one() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (!same_user(fd) || peers_.size() >= kPeersMax) {
    close(fd);
    return;
  }
  peers_[fd] = {};
  loop_.watch(fd, POLLIN, [this, fd](short) { read_from(fd); });
}

void WorkerSocket::drop(int fd) {
  loop_.unwatch(fd);
  close(fd);
  peers_.erase(fd);
}

void WorkerSocket::read_from(int fd) {
  std::array<char, 4096> chunk;
  const ssize_t got = recv(fd, chunk.data(), chunk.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  Peer& peer = peers_[fd];
  std::vector<std::string> lines;
  if (got > 0) peer.input.append(chunk.data(), static_cast<std::size_t>(got));
  if (got <= 0 || !cut_messages(peer.input, kHandshakeMax, lines)) {
    drop(fd);
    return;
  }
  for (const std::string& line : lines) {
    std::string error;
    auto message = parse_message(line, error);
    if (!message) {
      drop(fd);
      return;
    }
    if (message->kind == Kind::attached) peer.local_rank = message->local_rank;
    message->local_rank = peer.local_rank;
    if (peer.local_rank < 0) continue;
    loop_.defer([this, message = std::move(*message)] { take_(message); });
  }
}

void WorkerSocket::send(std::int64_t local_rank, const Message& message) {
  const std::string line = to_line(message);
  for (const auto& [fd, peer] : peers_)
    if (peer.local_rank == local_rank)
      // a worker that does not read its few short messages has more than this to be helped with
      ::send(fd, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace mlq::run
