// SPDX-License-Identifier: GPL-2.0-or-later
// Names of users whom slurmctld did not name; a look-up may block, so never with a lock held.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace mlq::engine {

class UserNames {
 public:
  /// "" when the system knows no such user.
  const std::string& of(std::uint32_t uid);

 private:
  static constexpr std::size_t max_cached = 100000;
  std::unordered_map<std::uint32_t, std::string> names_;
};

}  // namespace mlq::engine
