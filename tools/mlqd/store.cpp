// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>

#include "tools/mlqd/schema.hpp"

namespace mlq::mlqd {
namespace {

/// A restarted process starts a new stream, so a job of many processes has many; more than this is abuse.
constexpr std::int64_t kMaxStreams = 4096;

void set_up(Database& database) {
  // before the first table: a later change would need a VACUUM
  if (database.integer("SELECT count(*) FROM sqlite_schema") == 0)
    database.execute("PRAGMA auto_vacuum=INCREMENTAL");
  database.execute("PRAGMA journal_mode=WAL");
  database.execute("PRAGMA synchronous=FULL");
  database.execute("PRAGMA wal_autocheckpoint=4000");
  database.execute("PRAGMA journal_size_limit=67108864");
  database.execute("PRAGMA cache_size=-32768");
}

}  // namespace

StoreLock::StoreLock(const std::string& path) {
  const std::string lock = path + ".lock";
  descriptor_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor_ < 0)
    throw std::runtime_error("store " + path + ": " + lock + ": " + std::generic_category().message(errno));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int code = errno;
  close(descriptor_);
  throw std::runtime_error(code == EWOULDBLOCK
                               ? "store " + path + " is in use by another mlqd"
                               : "store " + path + ": " + std::generic_category().message(code));
}

StoreLock::~StoreLock() {
  close(descriptor_);
}

Store::Store(const std::string& path) : lock_(path), database_(path, Database::Mode::write) {
  try {
    check_store(database_, path, migrations().size());  // nothing is changed in what is not ours
    set_up(database_);
    migrate(database_, path, migrations());
  } catch (const SqliteError& error) {
    throw std::runtime_error("store " + path + ": " + error.what());
  }
  jobs_.emplace(database_);
  speeds_.emplace(database_);
  stream_get_.emplace(database_, "SELECT last_n FROM stream WHERE job=? AND name=?");
  stream_put_.emplace(database_,
                      "INSERT INTO stream(job, name, last_n, updated) VALUES(?,?,?,?) "
                      "ON CONFLICT DO UPDATE SET last_n=excluded.last_n, updated=excluded.updated");
  stream_count_.emplace(database_, "SELECT count(*) FROM stream WHERE job=?");
  stream_trim_.emplace(database_,
                       "DELETE FROM stream WHERE job=?1 AND name IN "
                       "(SELECT name FROM stream WHERE job=?1 ORDER BY updated LIMIT ?2)");
  point_put_.emplace(database_,
                     "INSERT INTO point(seq, job, iteration, loss, time, cores) VALUES(?,?,?,?,?,?)");
  family_put_.emplace(database_,
                      "INSERT INTO family(cluster, name, data, updated) VALUES(?,?,?,?) "
                      "ON CONFLICT DO UPDATE SET data=excluded.data, updated=excluded.updated");
  cycle_put_.emplace(database_,
                     "INSERT INTO cycle(cluster, time, data) VALUES(?,?,?) "
                     "ON CONFLICT DO UPDATE SET time=excluded.time, data=excluded.data");
  seq_put_.emplace(database_, "UPDATE meta SET value=? WHERE name='next_seq'");
  agent_put_.emplace(database_,
                     "INSERT INTO agent(job, changed, received, data) VALUES(?,?,?,?) ON CONFLICT DO UPDATE "
                     "SET changed=excluded.changed, received=excluded.received, data=excluded.data");
  next_seq_ = std::max({database_.integer("SELECT value FROM meta WHERE name='next_seq'"),
                        database_.integer("SELECT coalesce(max(seq), 0) + 1 FROM point"),
                        database_.integer("SELECT coalesce(max(changed), 0) + 1 FROM agent")});
  committed_seq_ = next_seq_;
}

void Store::begin() {
  database_.execute("BEGIN IMMEDIATE");
}

void Store::commit() {
  database_.execute("COMMIT");
  committed_seq_ = next_seq_;
}

void Store::rollback() noexcept {
  // some errors have rolled back already; then this one only says so
  sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  next_seq_ = committed_seq_;
  jobs_->take_changed();
}

void Store::save_next_seq() {
  seq_put_->bind(next_seq_).run();
}

std::int64_t Store::last_n(std::int64_t entry, const std::string& stream) {
  stream_get_->bind(entry, stream);
  const std::int64_t last = stream_get_->step() ? stream_get_->integer(0) : -1;
  stream_get_->reset();
  if (last < 0) limit_streams(entry);
  return last;
}

void Store::limit_streams(std::int64_t entry) {
  stream_count_->bind(entry);
  const std::int64_t count = stream_count_->step() ? stream_count_->integer(0) : 0;
  stream_count_->reset();
  if (count >= kMaxStreams) stream_trim_->bind(entry, count - kMaxStreams + 1).run();
}

Stored Store::add_report(const Reporter& reporter, const wire::Report& report, double now) {
  const std::int64_t entry = jobs_->for_report(reporter, now);
  const std::int64_t before = last_n(entry, report.stream);
  std::int64_t last = before;
  Stored result;
  for (const wire::ReportPoint& point : report.points) {
    if (point.n <= last) {
      ++result.dropped;
      continue;
    }
    last = point.n;
    point_put_->bind(next_seq_, entry, point.iteration, point.loss, point.time, point.cores);
    if (!std::isfinite(point.loss)) point_put_->set(4, nullptr);
    if (point.cores <= 0) point_put_->set(6, nullptr);
    point_put_->run();
    ++next_seq_;
    ++result.stored;
  }
  if (last > before) stream_put_->bind(entry, report.stream, last, now).run();
  if (result.stored > 0) jobs_->count_points(entry, static_cast<std::int64_t>(result.stored), now);
  return result;
}

void Store::add_speeds(const Reporter& reporter, const wire::SpeedReport& report, double now) {
  const std::int64_t entry = jobs_->for_report(reporter, now);
  speeds_->add({reporter.cluster, reporter.uid, report.family, report.unit}, entry, report, now);
  jobs_->touch(entry, now);
}

void Store::set_agent(const Reporter& reporter, const wire::AgentState& state, double now) {
  const std::int64_t entry = jobs_->for_report(reporter, now);
  agent_put_->bind(entry, next_seq_, now, state.data).run();
  ++next_seq_;
  jobs_->touch(entry, now);
}

void Store::add_cycle(const wire::Cycle& cycle, double now) {
  for (const wire::CycleJob& job : cycle.jobs) jobs_->update(cycle.cluster, job, now);
  for (const wire::CycleFamily& family : cycle.families)
    family_put_->bind(cycle.cluster, family.name, family.data, now).run();
  cycle_put_->bind(cycle.cluster, cycle.time, cycle.data).run();
}

}  // namespace mlq::mlqd
