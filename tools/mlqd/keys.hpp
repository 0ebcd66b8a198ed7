// SPDX-License-Identifier: GPL-2.0-or-later
// The site's key, and older ones that are still accepted while a new one is brought to every node.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/token/job_token.h"

namespace mlq::mlqd {

class Keys {
 public:
  explicit Keys(std::vector<std::string> files) : files_(std::move(files)) {}

  /// Reads every file anew; on an error all keys stay as they were. Any thread.
  bool load(std::string& error);

  /// Tries each key. The result and error are the last key's when none fits. A token that was good before
  /// is not proved again: only its times are looked at.
  mlq_token_result_t verify(const std::string& token, std::int64_t now, mlq_claims_t& claims,
                            std::string& error) const;

 private:
  struct Set {
    std::vector<mlq_key_t> keys;
    ~Set() {
      for (mlq_key_t& key : keys) mlq_key_wipe(&key);
    }
  };
  bool known(const std::string& token, mlq_claims_t& claims) const;
  void remember(const std::string& token, const mlq_claims_t& claims,
                const std::shared_ptr<const Set>& by) const;

  std::vector<std::string> files_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Set> set_;
  mutable std::unordered_map<std::string, mlq_claims_t> proved_;  ///< tokens that a key of set_ signed
};

}  // namespace mlq::mlqd
