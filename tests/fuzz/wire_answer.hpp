// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "core/wire/wire.hpp"
#include "tests/fuzz/require.hpp"

/// Whether a message was taken. One that was not has a reason, and the reason fits into an answer.
inline bool taken(bool parsed, const std::string& error) {
  require(parsed == error.empty());
  if (parsed) return true;
  const mlq::wire::Json message(json_stringn(error.data(), error.size()));
  require(message != nullptr);
  return false;
}
