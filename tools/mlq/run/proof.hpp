// SPDX-License-Identifier: GPL-2.0-or-later
// How agents of one job show each other that they know its secret, which never goes over the network.
#pragma once

#include <string>

namespace mlq::run {

/// So many random bytes of the kernel, as hexadecimal digits. Throws cli::Error.
std::string random_hex(std::size_t bytes);

/// HS256 signature (a JWT) of who speaks, "head" or "member", and of the nonce that the other side chose. ""
/// on failure.
std::string prove(const std::string& secret, const std::string& who, const std::string& nonce);
bool proven(const std::string& proof, const std::string& secret, const std::string& who,
            const std::string& nonce);

}  // namespace mlq::run
