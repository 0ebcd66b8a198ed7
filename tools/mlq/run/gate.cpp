// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/gate.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tools/mlq/error.hpp"
#include "tools/mlq/run/proof.hpp"

namespace mlq::run {
namespace {

constexpr double kHandshake = 5;  ///< seconds in which a visitor must have shown who it is
constexpr double kKnock = 10;

int listen_on(int family) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  sockaddr_storage address{};  // any address, port 0
  address.ss_family = static_cast<sa_family_t>(family);
  const socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const int no = 0;
  if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 && listen(fd, 128) == 0) return fd;
  close(fd);
  return -1;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// The socket, connecting; -1 with why.
int connect_to(const std::string& host, const std::string& port, std::string& why) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0) {
    why = gai_strerror(code);
    return -1;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
  const int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && (connect(fd, list->ai_addr, list->ai_addrlen) == 0 || errno == EINPROGRESS)) return fd;
  why = std::strerror(errno);
  if (fd >= 0) close(fd);
  return -1;
}

}  // namespace

Gate::Gate(Loop& loop, std::string secret, Joined joined)
    : loop_(loop), secret_(std::move(secret)), joined_(std::move(joined)) {
  listener_ = listen_on(AF_INET6);
  if (listener_ < 0) listener_ = listen_on(AF_INET);
  if (listener_ < 0) throw cli::Error(std::string("cannot listen for other nodes: ") + std::strerror(errno));
  port_ = port_of(listener_);
  loop_.watch(listener_, POLLIN, [this](short) { accept_one(); });
}

Gate::~Gate() {
  for (auto& [id, visitor] : visitors_) loop_.cancel(visitor.deadline);
  loop_.unwatch(listener_);
  close(listener_);
}

void Gate::accept_one() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (visitors_.size() >= kVisitorsMax) {
    close(fd);
    return;
  }
  const std::uint64_t id = ++last_;
  Visitor& visitor = visitors_[id];
  visitor.link = std::make_unique<Link>(
      loop_, fd, [this, id](const Message& message) { take(id, message); },
      [this, id](const std::string&) { send_away(id); });
  visitor.deadline = loop_.after(Seconds(kHandshake), [this, id] { send_away(id); });
}

void Gate::send_away(std::uint64_t id) {
  const auto found = visitors_.find(id);
  if (found == visitors_.end()) return;
  loop_.cancel(found->second.deadline);
  // not destroyed inside of its own call
  loop_.defer([link = std::shared_ptr<Link>(std::move(found->second.link))] {});
  visitors_.erase(found);
}

void Gate::take(std::uint64_t id, const Message& message) {
  const auto found = visitors_.find(id);
  if (found == visitors_.end()) return;
  Visitor& visitor = found->second;
  if (message.kind == Kind::hello && visitor.nonce.empty() && !message.nonce.empty()) {
    Message challenge;
    challenge.kind = Kind::challenge;
    challenge.nonce = visitor.nonce = random_hex(32);
    challenge.proof = prove(secret_, "head", message.nonce);
    visitor.link->send(challenge);
  } else if (message.kind == Kind::join && proven(message.proof, secret_, "member", visitor.nonce)) {
    loop_.cancel(visitor.deadline);
    visitor.link->trust();
    auto link = std::move(visitor.link);
    visitors_.erase(found);
    joined_(std::move(link), message);
  } else {
    send_away(id);
  }
}

Knock::Knock(Loop& loop, const std::string& host, const std::string& port, std::string secret, Message join,
             Welcome welcome, Refused refused)
    : loop_(loop),
      secret_(std::move(secret)),
      nonce_(random_hex(32)),
      join_(std::move(join)),
      welcome_(std::move(welcome)),
      refused_(std::move(refused)) {
  std::string why;
  const int fd = connect_to(host, port, why);
  if (fd < 0) {
    loop_.defer([this, why] { give_up(why); });
    return;
  }
  link_ = std::make_unique<Link>(
      loop_, fd, [this](const Message& message) { take(message); },
      [this](const std::string& reason) { give_up(reason); });
  Message hello;
  hello.kind = Kind::hello;
  hello.nonce = nonce_;
  link_->send(hello);
  deadline_ = loop_.after(Seconds(kKnock), [this] { give_up("no answer within 10 seconds"); });
}

Knock::~Knock() {
  loop_.cancel(deadline_);
}

void Knock::give_up(const std::string& why) {
  loop_.cancel(deadline_);
  if (refused_) std::exchange(refused_, nullptr)(why);
}

void Knock::take(const Message& message) {
  if (message.kind != Kind::challenge) return;
  if (!proven(message.proof, secret_, "head", nonce_)) {
    give_up("what listens there does not know the job's secret");
    return;
  }
  loop_.cancel(deadline_);
  refused_ = nullptr;
  join_.kind = Kind::join;
  join_.proof = prove(secret_, "member", message.nonce);
  link_->send(join_);
  link_->trust();
  welcome_(std::move(link_));
}

}  // namespace mlq::run
