// SPDX-License-Identifier: GPL-2.0-or-later
// The store's tables and how an older store becomes a newer one.
#pragma once

#include <span>
#include <string>

#include "tools/mlqd/sqlite.hpp"

namespace mlq::mlqd {

/// SQL that turns a store of version i into version i + 1; the first one makes a store out of an empty file.
std::span<const char* const> migrations();

/// The store's version, 0 of an empty file. Throws std::runtime_error with a message for the admin when the
/// file is another program's or of a version above `newest`; nothing is changed in it.
std::int64_t check_store(Database& database, const std::string& path, std::size_t newest);

/// Brings the store up to date, each migration in its own transaction. Throws as check_store().
void migrate(Database& database, const std::string& path, std::span<const char* const> migrations);

}  // namespace mlq::mlqd
