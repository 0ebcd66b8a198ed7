// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/listener.hpp"

#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace mlq::mlqd {
namespace {

constexpr int kBacklog = 4096;
constexpr int kFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

[[noreturn]] void fail(const std::string& what, int code) {
  throw std::runtime_error(what + ": " + std::generic_category().message(code));
}

struct HostPort {
  std::string host, port;
};

HostPort split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  HostPort out;
  if (colon != std::string::npos) {
    out.host = address.substr(0, colon);
    out.port = address.substr(colon + 1);
    if (out.host.size() >= 2 && out.host.front() == '[' && out.host.back() == ']')
      out.host = out.host.substr(1, out.host.size() - 2);
  }
  const bool digits =
      !out.port.empty() && out.port.size() <= 5 &&
      std::all_of(out.port.begin(), out.port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || std::stoi(out.port) > 65535)
    throw std::runtime_error("listen: \"" + address +
                             "\" was given, ADDRESS:PORT, [IPV6]:PORT, :PORT or off is allowed");
  return out;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = other.release();
  }
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

int Socket::release() noexcept {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  return descriptor;
}

Socket listen_tcp(const std::string& address) {
  const HostPort parts = split(address);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int code =
          getaddrinfo(parts.host.empty() ? nullptr : parts.host.c_str(), parts.port.c_str(), &hints, &found))
    throw std::runtime_error("listen " + address + ": " + gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  Socket socket(::socket(found->ai_family, kFlags, 0));
  if (socket.get() < 0) fail("listen " + address, errno);
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(socket.get(), kBacklog) != 0)
    fail("listen " + address, errno);
  return socket;
}

Socket listen_unix(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof name.sun_path)
    throw std::runtime_error("socket: " + path + " has " + std::to_string(path.size()) + " bytes, 1 to " +
                             std::to_string(sizeof name.sun_path - 1) + " are allowed");
  path.copy(name.sun_path, path.size());
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  Socket socket(::socket(AF_UNIX, kFlags, 0));
  if (socket.get() < 0) fail("socket " + path, errno);
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) throw std::runtime_error("socket " + path + " is there and is no socket");
    const Socket probe(::socket(AF_UNIX, kFlags, 0));
    if (connect(probe.get(), address, sizeof name) == 0 || errno == EAGAIN)
      throw std::runtime_error("socket " + path + ": another process listens there");
    unlink(path.c_str());
  }
  // nobody can connect before listen(), so the mode is right from the first connection on
  if (bind(socket.get(), address, sizeof name) != 0 || chmod(path.c_str(), 0666) != 0 ||
      listen(socket.get(), kBacklog) != 0)
    fail("socket " + path, errno);
  return socket;
}

std::size_t raise_file_limit(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  const rlimit full{wanted, std::max<rlim_t>(limit.rlim_max, wanted)};
  if (setrlimit(RLIMIT_NOFILE, &full) == 0) return wanted;
  const rlimit allowed{std::min<rlim_t>(wanted, limit.rlim_max), limit.rlim_max};
  return setrlimit(RLIMIT_NOFILE, &allowed) == 0 ? allowed.rlim_cur : limit.rlim_cur;
}

}  // namespace mlq::mlqd
