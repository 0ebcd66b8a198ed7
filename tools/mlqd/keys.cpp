// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/keys.hpp"

namespace mlq::mlqd {

bool Keys::load(std::string& error) {
  auto set = std::make_shared<Set>();
  set->keys.resize(files_.size());
  char message[MLQ_TOKEN_ERROR_MAX] = "";
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (mlq_key_load(files_[i].c_str(), &set->keys[i], message, sizeof message) != 0) {
      error = message;
      return false;
    }
  }
  const std::lock_guard lock(mutex_);
  set_ = std::move(set);
  return true;
}

mlq_token_result_t Keys::verify(const std::string& token, std::int64_t now, mlq_claims_t& claims,
                                std::string& error) const {
  std::shared_ptr<const Set> set;
  {
    const std::lock_guard lock(mutex_);
    set = set_;
  }
  mlq_token_result_t result = MLQ_TOKEN_FORGED;
  char message[MLQ_TOKEN_ERROR_MAX] = "no key is loaded";
  if (set) {
    for (const mlq_key_t& key : set->keys) {
      result = mlq_token_verify(token.c_str(), &key, now, &claims, message, sizeof message);
      if (result != MLQ_TOKEN_FORGED) break;
    }
  }
  if (result != MLQ_TOKEN_OK) error = message;
  return result;
}

}  // namespace mlq::mlqd
