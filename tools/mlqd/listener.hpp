// SPDX-License-Identifier: GPL-2.0-or-later
// Opens the sockets that mlqd listens on; errors are messages for the admin.
#pragma once

#include <cstdint>
#include <string>

namespace mlq::mlqd {

/// A descriptor that closes itself.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int get() const noexcept { return descriptor_; }
  int release() noexcept;

 private:
  int descriptor_ = -1;
};

/// "host:port", "[v6]:port" or ":port" (all addresses). Throws std::runtime_error.
Socket listen_tcp(const std::string& address);

/// Replaces a socket file that nobody listens on. Any local user may connect; who he is, the kernel tells.
Socket listen_unix(const std::string& path);

/// Raises the limit of open files as far as it may be, and returns it.
std::size_t raise_file_limit(std::size_t wanted);

}  // namespace mlq::mlqd
