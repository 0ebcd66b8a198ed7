// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/schema.hpp"

namespace mlq::mlqd {
namespace {

constexpr std::int64_t kApplicationId = 0x6d6c7164;  // "mlqd"

// touched: when a report or a cycle last wrote the job; retention goes by it. The texts of a job lie apart,
// so that a report rewrites a short row only. point_job holds (job, seq): an index ends with the rowid.
constexpr const char* kVersion1 = R"(
CREATE TABLE meta(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE job(
  id INTEGER PRIMARY KEY,
  cluster TEXT NOT NULL,
  job_id INTEGER NOT NULL,
  uid INTEGER NOT NULL,
  submit INTEGER NOT NULL,
  first_submit INTEGER NOT NULL,
  issued INTEGER NOT NULL,
  restarts INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  end_time INTEGER NOT NULL,
  points INTEGER NOT NULL,
  last_report REAL NOT NULL,
  touched REAL NOT NULL);
CREATE UNIQUE INDEX job_identity ON job(cluster, job_id, uid, submit);
CREATE INDEX job_live ON job(cluster, ended, end_time);
CREATE INDEX job_touched ON job(touched);
CREATE TABLE detail(job INTEGER PRIMARY KEY, user TEXT NOT NULL, info TEXT NOT NULL, status TEXT);
CREATE TABLE point(
  seq INTEGER PRIMARY KEY,
  job INTEGER NOT NULL,
  iteration REAL NOT NULL,
  loss REAL,
  time REAL NOT NULL,
  cores REAL);
CREATE INDEX point_job ON point(job);
CREATE TABLE stream(
  job INTEGER NOT NULL,
  name TEXT NOT NULL,
  last_n INTEGER NOT NULL,
  updated REAL NOT NULL,
  PRIMARY KEY(job, name)) WITHOUT ROWID;
CREATE TABLE family(
  cluster TEXT NOT NULL,
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  updated REAL NOT NULL,
  PRIMARY KEY(cluster, name)) WITHOUT ROWID;
CREATE TABLE cycle(cluster TEXT PRIMARY KEY, time REAL NOT NULL, data TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES('epoch', lower(hex(randomblob(16))));
INSERT INTO meta VALUES('next_seq', 1);
)";

// What the agent of a job said last. changed: drawn from the numbers of points, so that one number tells a
// scheduler how far it has come with both.
constexpr const char* kVersion2 = R"(
CREATE TABLE agent(
  job INTEGER PRIMARY KEY,
  changed INTEGER NOT NULL,
  received REAL NOT NULL,
  data TEXT NOT NULL);
CREATE UNIQUE INDEX agent_changed ON agent(changed);
)";

// node_speed: learnt over a user's jobs. batch: what the ranks of a job on a node said last.
constexpr const char* kVersion3 = R"(
CREATE TABLE node_speed(
  cluster TEXT NOT NULL,
  uid INTEGER NOT NULL,
  family TEXT NOT NULL,
  unit TEXT NOT NULL,
  node TEXT NOT NULL,
  speed REAL NOT NULL,
  updated REAL NOT NULL,
  PRIMARY KEY(cluster, uid, family, unit, node)) WITHOUT ROWID;
CREATE INDEX node_speed_updated ON node_speed(updated);
CREATE TABLE batch(
  job INTEGER NOT NULL,
  node TEXT NOT NULL,
  received REAL NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY(job, node)) WITHOUT ROWID;
)";

// array_job: the array that the job is a task of, 0: of none.
constexpr const char* kVersion4 = R"(
ALTER TABLE job ADD COLUMN array_job INTEGER NOT NULL DEFAULT 0;
CREATE INDEX job_array ON job(cluster, array_job);
)";

constexpr const char* kMigrations[] = {kVersion1, kVersion2, kVersion3, kVersion4};

}  // namespace

std::span<const char* const> migrations() {
  return kMigrations;
}

std::int64_t check_store(Database& database, const std::string& path, std::size_t newest) {
  const std::int64_t version = database.integer("PRAGMA user_version");
  const std::int64_t application = database.integer("PRAGMA application_id");
  const bool fresh =
      version == 0 && application == 0 && database.integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (!fresh && application != kApplicationId)
    throw std::runtime_error("store " + path + " is another program's SQLite file");
  if (version > static_cast<std::int64_t>(newest))
    throw std::runtime_error("store " + path + " has version " + std::to_string(version) +
                             ", this mlqd knows versions up to " + std::to_string(newest) +
                             ": start the newer mlqd that wrote it, or give another --store");
  return version;
}

void migrate(Database& database, const std::string& path, std::span<const char* const> migrations) {
  const std::int64_t from = check_store(database, path, migrations.size());
  for (std::size_t i = static_cast<std::size_t>(from); i < migrations.size(); ++i) {
    database.execute("BEGIN IMMEDIATE");
    try {
      database.execute(migrations[i]);
      database.execute(("PRAGMA user_version=" + std::to_string(i + 1)).c_str());
      database.execute(("PRAGMA application_id=" + std::to_string(kApplicationId)).c_str());
      database.execute("COMMIT");
    } catch (...) {
      sqlite3_exec(database.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
      throw;
    }
  }
}

}  // namespace mlq::mlqd
