// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/keys.hpp"

namespace mlq::mlqd {
namespace {

/// Of a few hundred bytes each. Only the holder of the key can fill the table.
constexpr std::size_t kMostProved = 65536;

}  // namespace

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
  proved_.clear();
  return true;
}

bool Keys::known(const std::string& token, mlq_claims_t& claims) const {
  const std::lock_guard lock(mutex_);
  const auto found = proved_.find(token);
  if (found == proved_.end()) return false;
  claims = found->second;
  return true;
}

void Keys::remember(const std::string& token, const mlq_claims_t& claims,
                    const std::shared_ptr<const Set>& by) const {
  const std::lock_guard lock(mutex_);
  if (set_ != by) return;  // the keys were changed meanwhile
  if (proved_.size() >= kMostProved) proved_.clear();
  proved_.insert_or_assign(token, claims);
}

mlq_token_result_t Keys::verify(const std::string& token, std::int64_t now, mlq_claims_t& claims,
                                std::string& error) const {
  mlq_token_result_t result = MLQ_TOKEN_FORGED;
  char message[MLQ_TOKEN_ERROR_MAX] = "no key is loaded";
  std::shared_ptr<const Set> set;
  if (known(token, claims)) {
    result = mlq_claims_in_time(&claims, now, message, sizeof message);
  } else {
    const std::lock_guard lock(mutex_);
    set = set_;
  }
  if (set) {
    for (const mlq_key_t& key : set->keys) {
      result = mlq_token_verify(token.c_str(), &key, now, &claims, message, sizeof message);
      if (result != MLQ_TOKEN_FORGED) break;
    }
  }
  if (set && result == MLQ_TOKEN_OK) remember(token, claims, set);
  if (result != MLQ_TOKEN_OK) error = message;
  return result;
}

}  // namespace mlq::mlqd
