// SPDX-License-Identifier: GPL-2.0-or-later
// Addresses and ports on this host.
#pragma once

#include <cstdint>
#include <string>

namespace mlq::run {

/// A TCP port that nobody uses now, outside the range from which the kernel gives ports to connections, so
/// that it stays so. 0 when there is none.
std::uint16_t free_port();

/// Numeric address of this host that other nodes can reach: of its name; if that is a loopback address or
/// none, of its first network interface; else 127.0.0.1.
std::string own_address();

}  // namespace mlq::run
