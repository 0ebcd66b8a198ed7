// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/retention.hpp"

#include <vector>

namespace mlq::mlqd {
namespace {

constexpr double kShrinkTo = 0.9;           // of max_bytes, so that not every report starts it anew
constexpr std::int64_t kKeepNewest = 2000;  // points that thinning leaves alone
constexpr std::int64_t kSparePages = 4096;  // free pages kept for what comes next

/// A transaction that is rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(Store& store) : store_(store) { store_.begin(); }
  ~Transaction() {
    if (open_) store_.rollback();
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    store_.commit();
    open_ = false;
  }

 private:
  Store& store_;
  bool open_ = true;
};

/// What belongs to no job and goes by its own age.
struct AgedTable {
  const char *any, *remove;
};
constexpr AgedTable kAgedTables[] = {
    {"SELECT 1 FROM family WHERE updated<? LIMIT 1",
     "DELETE FROM family WHERE (cluster, name) IN "
     "(SELECT cluster, name FROM family WHERE updated<? LIMIT ?)"},
    {"SELECT 1 FROM node_speed WHERE updated<? LIMIT 1",
     "DELETE FROM node_speed WHERE (cluster, uid, family, unit, node) IN "
     "(SELECT cluster, uid, family, unit, node FROM node_speed WHERE updated<? LIMIT ?)"}};

std::int64_t first(Database& database, const char* sql) {
  Statement statement(database, sql);
  return statement.step() ? statement.integer(0) : 0;
}

}  // namespace

std::int64_t Retention::used_bytes() {
  Database& database = store_.database();
  return (database.integer("PRAGMA page_count") - database.integer("PRAGMA freelist_count")) *
         database.integer("PRAGMA page_size");
}

bool Retention::over_size() {
  const double limit = static_cast<double>(limits_.max_bytes) * (shrinking_ ? kShrinkTo : 1.0);
  shrinking_ = static_cast<double>(used_bytes()) > limit;
  return shrinking_;
}

bool Retention::step(double now) {
  if (removing_ != 0) {  // a curve goes as a whole, not without its head
    remove_from(removing_);
    return true;
  }
  return step_age(now) || step_size() || step_file();
}

bool Retention::step_age(double now) {
  const double cutoff = now - limits_.keep_seconds;
  Database& database = store_.database();
  Statement old(database, "SELECT id FROM job WHERE touched<? ORDER BY touched LIMIT 1");
  old.bind(cutoff);
  const std::int64_t entry = old.step() ? old.integer(0) : 0;
  old.reset();
  if (entry != 0) {
    remove_from(entry);
    return true;
  }
  for (const AgedTable& table : kAgedTables) {
    Statement stale(database, table.any);
    if (!stale.bind(cutoff).step()) continue;
    stale.reset();
    Statement(database, table.remove).bind(cutoff, limits_.step_rows).run();
    return true;
  }
  return false;
}

bool Retention::step_size() {
  if (!over_size()) return false;
  Database& database = store_.database();
  if (const std::int64_t entry =
          first(database, "SELECT id FROM job WHERE ended=1 ORDER BY touched LIMIT 1")) {
    remove_from(entry);
    return true;
  }
  const std::int64_t entry = first(database, "SELECT id FROM job ORDER BY points DESC LIMIT 1");
  return entry != 0 && thin(entry) > 0;
}

void Retention::remove_from(std::int64_t entry) {
  Database& database = store_.database();
  Transaction transaction(store_);
  store_.save_next_seq();
  Statement(database, "DELETE FROM point WHERE seq IN (SELECT seq FROM point WHERE job=? LIMIT ?)")
      .bind(entry, limits_.step_rows)
      .run();
  const std::int64_t gone = database.changes();
  if (gone < limits_.step_rows) {
    for (const char* sql :
         {"DELETE FROM stream WHERE job=?", "DELETE FROM agent WHERE job=?", "DELETE FROM batch WHERE job=?",
          "DELETE FROM detail WHERE job=?", "DELETE FROM job WHERE id=?"})
      Statement(database, sql).bind(entry).run();
  } else {
    Statement(database, "UPDATE job SET points=points-? WHERE id=?").bind(gone, entry).run();
  }
  transaction.commit();
  removing_ = gone < limits_.step_rows ? 0 : entry;
  removed_ += static_cast<std::uint64_t>(gone);
}

std::int64_t Retention::thin(std::int64_t entry) {
  Database& database = store_.database();
  if (thinned_entry_ != entry) thin_cursor_ = 0;
  thinned_entry_ = entry;
  Statement newest(database, "SELECT seq FROM point WHERE job=? ORDER BY seq DESC LIMIT 1 OFFSET ?");
  newest.bind(entry, kKeepNewest);
  if (!newest.step()) return 0;  // so few points: the size is made of something else
  const std::int64_t end = newest.integer(0);
  newest.reset();
  Statement window(database, "SELECT seq FROM point WHERE job=? AND seq>? AND seq<=? ORDER BY seq LIMIT ?");
  window.bind(entry, thin_cursor_, end, 2 * limits_.step_rows);
  std::vector<std::int64_t> sequence;
  while (window.step()) sequence.push_back(window.integer(0));
  if (sequence.size() < 2) {  // through: begin anew with what is left
    const bool again = thin_cursor_ != 0;
    thin_cursor_ = 0;
    return again ? 1 : 0;
  }
  Transaction transaction(store_);
  Statement remove(database, "DELETE FROM point WHERE seq=?");
  std::int64_t gone = 0;
  // the first point of a curve stays: it is what a fraction is measured from
  for (std::size_t i = 1; i < sequence.size(); i += 2, ++gone) remove.bind(sequence[i]).run();
  Statement(database, "UPDATE job SET points=points-? WHERE id=?").bind(gone, entry).run();
  transaction.commit();
  thin_cursor_ = sequence.back();
  removed_ += static_cast<std::uint64_t>(gone);
  return gone;
}

bool Retention::step_file() {
  Database& database = store_.database();
  if (database.integer("PRAGMA freelist_count") <= kSparePages) return false;
  Statement vacuum(database, "PRAGMA incremental_vacuum(512)");
  vacuum.run();
  return true;
}

}  // namespace mlq::mlqd
