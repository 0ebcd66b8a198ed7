// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/proof.hpp"

#include <jwt.h>
#include <sys/random.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "tools/mlq/error.hpp"

namespace mlq::run {
namespace {

using Token = std::unique_ptr<jwt_t, decltype(&jwt_free)>;

const unsigned char* key_of(const std::string& secret) {
  return reinterpret_cast<const unsigned char*>(secret.data());
}

bool grants(const Token& token, const char* name, const std::string& wanted) {
  const char* value = jwt_get_grant(token.get(), name);
  return value && value == wanted;
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::vector<unsigned char> raw(bytes);
  if (getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(raw.size()))
    throw cli::Error("the kernel has no random numbers");
  std::string text;
  text.reserve(2 * bytes);
  for (const unsigned char byte : raw) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string prove(const std::string& secret, const std::string& who, const std::string& nonce) {
  jwt_t* made = nullptr;
  if (secret.size() < 32 || jwt_new(&made) != 0) return {};
  const Token token(made, &jwt_free);
  if (jwt_set_alg(made, JWT_ALG_HS256, key_of(secret), static_cast<int>(secret.size())) != 0 ||
      jwt_add_grant(made, "sub", who.c_str()) != 0 || jwt_add_grant(made, "nonce", nonce.c_str()) != 0)
    return {};
  char* text = jwt_encode_str(made);
  std::string proof = text ? text : "";
  std::free(text);
  return proof;
}

bool proven(const std::string& proof, const std::string& secret, const std::string& who,
            const std::string& nonce) {
  jwt_t* read = nullptr;
  if (secret.size() < 32 || nonce.empty() ||
      jwt_decode(&read, proof.c_str(), key_of(secret), static_cast<int>(secret.size())) != 0)
    return false;
  const Token token(read, &jwt_free);
  return jwt_get_alg(read) == JWT_ALG_HS256 && grants(token, "sub", who) && grants(token, "nonce", nonce);
}

}  // namespace mlq::run
