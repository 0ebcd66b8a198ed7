// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/user_names.hpp"

#include <pwd.h>

#include <array>

namespace mlq::engine {

const std::string& UserNames::of(std::uint32_t uid) {
  if (names_.size() >= max_cached) names_.clear();
  const auto [at, fresh] = names_.try_emplace(uid);
  if (fresh) {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> buffer;
    if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
      at->second = found->pw_name;
    }
  }
  return at->second;
}

}  // namespace mlq::engine
