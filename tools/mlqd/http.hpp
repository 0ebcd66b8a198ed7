// SPDX-License-Identifier: GPL-2.0-or-later
// A request and its answer, without a word about the HTTP library.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/token/job_token.h"

namespace mlq::mlqd {

struct Response {
  unsigned status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  double retry_after = 0;  ///< seconds, 0 = no such header
  std::string allow = {};  ///< methods, for 405
};

/// Who speaks: by the Unix socket with the user the kernel vouches for, or by TCP from an address.
struct Peer {
  bool local = false;
  std::uint32_t uid = 0;  ///< local only
  std::string address;    ///< TCP only
};

enum class Route : std::uint8_t {
  reports,
  agent,
  add_speeds,
  speeds,
  points,
  cycle,
  families,
  jobs,
  job,
  health,
  metrics
};

struct Request {
  std::string method;
  std::string path;
  std::optional<std::string> authorization;
  std::map<std::string, std::string, std::less<>> arguments;
  Peer peer;
  std::string body;

  // Found out by Service::begin():
  Route route = Route::health;
  std::uint32_t job_id = 0;            ///< of /v1/jobs/N
  std::optional<mlq_claims_t> claims;  ///< of a valid token
  std::string limited_as;              ///< whose rate this counts against, "" = nobody's
  std::size_t body_limit = 0;

  /// Of the query, "" when it is not given.
  std::string argument(std::string_view name) const {
    const auto found = arguments.find(name);
    return found == arguments.end() ? "" : found->second;
  }
};

/// Decimal digits and perhaps a sign, nothing else, within [low, high].
template <typename Integer>
bool parse_number(std::string_view text, Integer low, Integer high, Integer& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size() && out >= low && out <= high;
}

Response error_response(unsigned status, const std::string& message);

}  // namespace mlq::mlqd
