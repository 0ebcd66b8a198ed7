// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/sqlite.hpp"

namespace mlq::mlqd {
namespace {

[[noreturn]] void fail(sqlite3* handle, int code, const std::string& what) {
  throw SqliteError(code & 0xff, what + ": " + (handle ? sqlite3_errmsg(handle) : sqlite3_errstr(code)));
}

}  // namespace

Database::Database(const std::string& path, Mode mode) {
  sqlite3* handle = nullptr;
  // NOMUTEX: one thread at a time uses a connection, so SQLite need not lock it
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  if (mode == Mode::write) flags |= SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(handle, code, path);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 2000);
}

void Database::execute(const char* sql) {
  if (const int code = sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr); code != SQLITE_OK)
    fail(handle(), code, sql);
}

std::int64_t Database::integer(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

Statement::Statement(Database& database, const char* sql) : database_(database.handle()) {
  sqlite3_stmt* handle = nullptr;
  if (const int code = sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
      code != SQLITE_OK)
    throw SqliteError(code & 0xff, sqlite3_errmsg(database_));
  handle_.reset(handle);
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  const std::string what = sqlite3_errmsg(database_);
  reset();
  throw SqliteError(code & 0xff, what);
}

std::string_view Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  return data ? std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column)))
              : std::string_view();
}

}  // namespace mlq::mlqd
