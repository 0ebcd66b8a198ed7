// SPDX-License-Identifier: GPL-2.0-or-later
// SQLite with destructors: a connection, a statement, an error.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mlq::mlqd {

class SqliteError : public std::runtime_error {
 public:
  SqliteError(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
  int code() const noexcept { return code_; }  ///< primary result code

 private:
  int code_;
};

/// One connection, used by one thread at a time.
class Database {
 public:
  enum class Mode : std::uint8_t { write, read };

  Database(const std::string& path, Mode mode);
  void execute(const char* sql);
  std::int64_t integer(const char* sql);  ///< the only value of a query
  sqlite3* handle() const noexcept { return handle_.get(); }
  std::int64_t last_id() const noexcept { return sqlite3_last_insert_rowid(handle_.get()); }
  int changes() const noexcept { return sqlite3_changes(handle_.get()); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A prepared statement. `for (s.bind(7, "x"); s.step();) s.integer(0);`
class Statement {
 public:
  Statement(Database& database, const char* sql);

  /// Resets and binds the parameters from the first on. Texts must live until the last step().
  template <typename... Values>
  Statement& bind(const Values&... values) {
    reset();
    [[maybe_unused]] int index = 0;
    (set(++index, values), ...);
    return *this;
  }
  bool step();  ///< a row is there
  void run() {
    while (step()) {
    }
  }
  void reset() noexcept { sqlite3_reset(handle_.get()); }
  void set(int index, std::int64_t value) { sqlite3_bind_int64(handle_.get(), index, value); }
  void set(int index, int value) { set(index, std::int64_t{value}); }
  void set(int index, std::uint32_t value) { set(index, std::int64_t{value}); }
  void set(int index, bool value) { set(index, std::int64_t{value}); }
  void set(int index, double value) { sqlite3_bind_double(handle_.get(), index, value); }
  void set(int index, std::nullptr_t) { sqlite3_bind_null(handle_.get(), index); }
  void set(int index, std::string_view value) {
    sqlite3_bind_text(handle_.get(), index, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  void set(int index, const char* value) { set(index, std::string_view(value)); }
  void set(int index, const std::string& value) { set(index, std::string_view(value)); }

  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  double real(int column) const { return sqlite3_column_double(handle_.get(), column); }
  bool is_null(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL; }
  std::string_view text(int column) const;  ///< until the next step() or reset()

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const noexcept { sqlite3_finalize(handle); }
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

}  // namespace mlq::mlqd
