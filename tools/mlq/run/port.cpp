// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/port.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <random>

namespace mlq::run {
namespace {

constexpr int kLowest = 20000, kHighest = 32767;
constexpr int kTries = 200;

bool is_free(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  const bool free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return free;
}

std::string text_of(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const bool loopback = (ntohl(address.sin_addr.s_addr) >> 24) == 127;
  if (loopback || !inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size())) return {};
  return text.data();
}

std::string address_of_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(name.data(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
  for (const addrinfo* entry = list.get(); entry; entry = entry->ai_next)
    if (std::string text = text_of(*reinterpret_cast<const sockaddr_in*>(entry->ai_addr)); !text.empty())
      return text;
  return {};
}

std::string address_of_interface() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(found, &freeifaddrs);
  for (const ifaddrs* entry = list.get(); entry; entry = entry->ifa_next)
    if (entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET && (entry->ifa_flags & IFF_UP))
      if (std::string text = text_of(*reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)); !text.empty())
        return text;
  return {};
}

}  // namespace

std::uint16_t free_port() {
  int highest = kHighest;
  if (int low = 0; std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> low && low > kLowest + 1000)
    highest = std::min(highest, low - 1);
  std::random_device random;
  std::uniform_int_distribution<int> draw(kLowest, highest);
  for (int i = 0; i < kTries; ++i)
    if (const auto port = static_cast<std::uint16_t>(draw(random)); is_free(port)) return port;
  return 0;
}

std::string own_address() {
  for (const auto& find : {address_of_name, address_of_interface})
    if (std::string text = find(); !text.empty()) return text;
  return "127.0.0.1";
}

}  // namespace mlq::run
