// SPDX-License-Identifier: GPL-2.0-or-later
// The site's key, and older ones that are still accepted while a new one is brought to every node.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/token/job_token.h"

namespace mlq::mlqd {

class Keys {
 public:
  explicit Keys(std::vector<std::string> files) : files_(std::move(files)) {}

  /// Reads every file anew; on an error all keys stay as they were. Any thread.
  bool load(std::string& error);

  /// Tries each key. The result and error are the last key's when none fits.
  mlq_token_result_t verify(const std::string& token, std::int64_t now, mlq_claims_t& claims,
                            std::string& error) const;

 private:
  struct Set {
    std::vector<mlq_key_t> keys;
    ~Set() {
      for (mlq_key_t& key : keys) mlq_key_wipe(&key);
    }
  };
  std::vector<std::string> files_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Set> set_;
};

}  // namespace mlq::mlqd
