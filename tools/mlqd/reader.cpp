// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/reader.hpp"

#include <algorithm>
#include <unordered_map>

namespace mlq::mlqd {
namespace {

constexpr std::int64_t kEndedGrace = 600;        // seconds
constexpr std::int64_t kMaxVisited = 200'000;    // rows looked at for one answer: a bound on its time
constexpr std::size_t kMaxAgentBytes = 4 << 20;  // of agents in one answer: a scheduler takes 16 MiB

/// A column of JSON text; null when the store holds none.
json_t* json_of(std::string_view text) {
  json_t* value = text.empty() ? nullptr : json_loadb(text.data(), text.size(), JSON_DECODE_ANY, nullptr);
  return value ? value : json_null();
}

json_t* real_or_null(const Statement& row, int column) {
  return row.is_null(column) ? json_null() : json_real(row.real(column));
}

}  // namespace

struct Reader::Connection {
  explicit Connection(const std::string& path) : database(path, Database::Mode::read) {
    database.execute("PRAGMA query_only=ON");
    database.execute("PRAGMA cache_size=-8192");
  }
  Database database;
  std::optional<Statement> target;  ///< kept, for it is asked so often
};

/// A connection out of the pool, in one read transaction: an answer sees one state of the store.
class Reader::Lease {
 public:
  explicit Lease(Reader& reader) : reader_(reader) {
    {
      const std::lock_guard lock(reader_.mutex_);
      if (!reader_.free_.empty()) {
        connection_ = std::move(reader_.free_.back());
        reader_.free_.pop_back();
      }
    }
    if (!connection_) connection_ = std::make_unique<Connection>(reader_.path_);
    connection_->database.execute("BEGIN");
  }
  ~Lease() {
    sqlite3_exec(connection_->database.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    const std::lock_guard lock(reader_.mutex_);
    if (reader_.free_.size() < reader_.free_.capacity()) reader_.free_.push_back(std::move(connection_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Database& operator*() const noexcept { return connection_->database; }
  Connection* operator->() const noexcept { return connection_.get(); }

 private:
  Reader& reader_;
  std::unique_ptr<Connection> connection_;
};

Reader::Reader(const std::string& path, std::size_t connections) : path_(path) {
  free_.reserve(connections);
  Lease lease(*this);
  Statement epoch(*lease, "SELECT value FROM meta WHERE name='epoch'");
  if (epoch.step()) epoch_ = epoch.text(0);
}

Reader::~Reader() = default;

namespace {

struct LiveJob {
  std::int64_t job_id;
  std::int64_t submit;
};
using LiveJobs = std::unordered_map<std::int64_t, LiveJob>;

LiveJobs live_jobs(Database& database, const std::string& cluster, double now) {
  LiveJobs live;
  Statement rows(database,
                 "SELECT id, job_id, submit FROM job WHERE cluster=?1 AND ended=0 UNION ALL "
                 "SELECT id, job_id, submit FROM job WHERE cluster=?1 AND ended=1 AND end_time>=?2");
  for (rows.bind(cluster, static_cast<std::int64_t>(now) - kEndedGrace); rows.step();)
    live.emplace(rows.integer(0), LiveJob{rows.integer(1), rows.integer(2)});
  return live;
}

/// The number before the first point of any live job: a scheduler that starts anew skips what is history.
std::int64_t before_live(Database& database, const LiveJobs& live, std::int64_t last) {
  std::int64_t least = last;
  Statement oldest(database, "SELECT seq FROM point WHERE job=? ORDER BY seq LIMIT 1");
  for (const auto& [entry, job] : live) {
    oldest.bind(entry);
    if (oldest.step()) least = std::min(least, oldest.integer(0) - 1);
  }
  return least;
}

json_t* point_row(const Statement& row, const LiveJob& job) {
  json_t* values = json_array();
  json_array_append_new(values, json_integer(row.integer(0)));
  json_array_append_new(values, json_integer(job.job_id));
  json_array_append_new(values, json_integer(job.submit));
  json_array_append_new(values, json_real(row.real(2)));
  json_array_append_new(values, real_or_null(row, 3));
  json_array_append_new(values, json_real(row.real(4)));
  json_array_append_new(values, real_or_null(row, 5));
  return values;
}

/// An agent's state as it is told: with when mlqd took it, by mlqd's clock.
json_t* agent_object(std::string_view data, double received) {
  json_t* agent = json_of(data);
  if (json_is_object(agent)) json_object_set_new(agent, "received", json_real(received));
  return agent;
}

struct NumberedAgent {
  std::int64_t changed;
  wire::Json state;
};

/// The agents that changed after `after`, oldest first; `last` falls to the last of them when they are too
/// many for one answer. Their companions are left out: a scheduler sees those itself.
std::vector<NumberedAgent> changed_agents(Database& database, const LiveJobs& live, std::int64_t after,
                                          std::int64_t& last) {
  std::vector<NumberedAgent> agents;
  std::size_t bytes = 0;
  Statement rows(database, "SELECT changed, job, received, data FROM agent WHERE changed>? ORDER BY changed");
  for (rows.bind(after); rows.step();) {
    const auto job = live.find(rows.integer(1));
    if (job == live.end()) continue;
    if (bytes > kMaxAgentBytes) {
      last = agents.back().changed;
      break;
    }
    wire::Json state(agent_object(rows.text(3), rows.real(2)));
    json_object_del(state.get(), "companions");
    json_object_set_new(state.get(), "job_id", json_integer(job->second.job_id));
    json_object_set_new(state.get(), "submit", json_integer(job->second.submit));
    bytes += rows.text(3).size();
    agents.push_back({rows.integer(0), std::move(state)});
  }
  return agents;
}

}  // namespace

wire::Json Reader::points(const std::string& cluster, std::int64_t after, std::int64_t max, double now) {
  Lease lease(*this);
  Database& database = *lease;
  std::int64_t last = std::max(database.integer("SELECT coalesce(max(seq), 0) FROM point"),
                               database.integer("SELECT coalesce(max(changed), 0) FROM agent"));
  const LiveJobs live = live_jobs(database, cluster, now);
  // a store put back from a copy may end before the scheduler's number: go on from its end
  std::int64_t next = std::min(after, last);
  const std::int64_t newest = last;
  const std::vector<NumberedAgent> agents = changed_agents(database, live, next, last);
  if (last - next > kMaxVisited / 10) next = std::max(next, before_live(database, live, last));
  json_t* points = json_array();
  Statement rows(database,
                 "SELECT seq, job, iteration, loss, time, cores FROM point WHERE seq>? AND seq<=? "
                 "ORDER BY seq LIMIT ?");
  std::int64_t visited = 0;
  bool full = false;
  for (rows.bind(next, last, kMaxVisited); !full && rows.step();
       full = static_cast<std::int64_t>(json_array_size(points)) >= max) {
    ++visited;
    next = rows.integer(0);
    if (const auto job = live.find(rows.integer(1)); job != live.end())
      json_array_append_new(points, point_row(rows, job->second));
  }
  rows.reset();
  if (!full && visited < kMaxVisited) next = std::max(next, last);  // the last number may be an agent's
  json_t* told = json_array();
  for (const NumberedAgent& agent : agents)
    if (agent.changed <= next) json_array_append(told, agent.state.get());
  return wire::Json(json_pack("{s:i, s:I, s:b, s:s, s:o, s:o}", "v", wire::kVersion, "next",
                              static_cast<json_int_t>(next), "more", next < newest ? 1 : 0, "epoch",
                              epoch_.c_str(), "points", points, "agents", told));
}

wire::Json Reader::families(const std::string& cluster) {
  Lease lease(*this);
  json_t* list = json_array();
  Statement rows(*lease, "SELECT data FROM family WHERE cluster=? ORDER BY name");
  for (rows.bind(cluster); rows.step();) json_array_append_new(list, json_of(rows.text(0)));
  return wire::Json(json_pack("{s:i, s:o}", "v", wire::kVersion, "families", list));
}

wire::Json Reader::speeds(const SpeedKey& key, double now) {
  Lease lease(*this);
  return learnt_speeds(*lease, key, now);
}

namespace {

constexpr const char* kJobColumns =
    "SELECT j.id, j.job_id, j.submit, j.uid, j.restarts, j.ended, j.points, j.last_report, d.info, d.status, "
    "a.data, a.received FROM job j LEFT JOIN detail d ON d.job=j.id LEFT JOIN agent a ON a.job=j.id ";

/// A job as the scheduler told it, or as much as its token said when the scheduler has not.
json_t* job_object(const Statement& row) {
  json_t* job = json_of(row.text(8));
  if (!json_is_object(job)) {
    json_decref(job);
    job = json_pack(
        "{s:I, s:I, s:I, s:I, s:b, s:s}", "job_id", static_cast<json_int_t>(row.integer(1)), "submit",
        static_cast<json_int_t>(row.integer(2)), "uid", static_cast<json_int_t>(row.integer(3)), "restarts",
        static_cast<json_int_t>(row.integer(4)), "ended", row.integer(5) != 0 ? 1 : 0, "state", "UNKNOWN");
  }
  const bool ended = row.integer(5) != 0;
  if (ended &&
      !json_is_true(json_object_get(job, "ended"))) {  // its id was given anew, nobody told of its end
    json_object_set_new(job, "ended", json_true());
    json_object_set_new(job, "state", json_string("UNKNOWN"));
  }
  json_object_set_new(job, "stored", json_integer(row.integer(6)));
  if (row.real(7) > 0) json_object_set_new(job, "last_report", json_real(row.real(7)));
  if (!row.text(9).empty()) json_object_set_new(job, "status", json_of(row.text(9)));
  if (!row.text(10).empty()) json_object_set_new(job, "agent", agent_object(row.text(10), row.real(11)));
  return job;
}

/// The last points of a job, oldest first.
json_t* tail_of(Database& database, std::int64_t entry, std::int64_t points) {
  json_t* curve = json_array();
  Statement tail(
      database,
      "SELECT iteration, loss, time, cores FROM (SELECT seq, iteration, loss, time, cores FROM point "
      "WHERE job=? ORDER BY seq DESC LIMIT ?) ORDER BY seq");
  for (tail.bind(entry, points); tail.step();) {
    json_t* values = json_array();
    json_array_append_new(values, json_real(tail.real(0)));
    json_array_append_new(values, real_or_null(tail, 1));
    json_array_append_new(values, json_real(tail.real(2)));
    json_array_append_new(values, real_or_null(tail, 3));
    json_array_append_new(curve, values);
  }
  return curve;
}

json_t* cycle_of(Database& database, const std::string& cluster) {
  Statement row(database, "SELECT data FROM cycle WHERE cluster=?");
  return row.bind(cluster).step() ? json_of(row.text(0)) : json_null();
}

wire::Json answer(Database& database, const std::string& cluster, double now) {
  return wire::Json(json_pack("{s:i, s:f, s:s, s:o}", "v", wire::kVersion, "time", now, "cluster",
                              cluster.c_str(), "cycle", cycle_of(database, cluster)));
}

}  // namespace

wire::Json Reader::jobs(const JobsQuery& query, double now) {
  Lease lease(*this);
  // only the conditions that are asked for, so that SQLite finds the index that serves them
  // (+ takes a term out of that choice: a job's own rows are found below, not by walking the cluster's)
  std::string sql = std::string(kJobColumns) + (query.job_id ? "WHERE +j.cluster=?1" : "WHERE j.cluster=?1");
  if (!query.all) sql += " AND j.ended=0";
  if (query.job_id)
    sql +=
        " AND j.id IN (SELECT id FROM job WHERE cluster=?1 AND job_id=?3 UNION "
        "SELECT id FROM job WHERE cluster=?1 AND array_job=?3)";
  if (query.user) sql += " AND d.user=?4";
  sql += " ORDER BY j.id DESC LIMIT ?2";
  Statement rows(*lease, sql.c_str());
  json_t* list = json_array();
  const std::string user = query.user.value_or("");
  for (rows.bind(query.cluster, query.max, query.job_id.value_or(0), user); rows.step();)
    json_array_append_new(list, job_object(rows));
  wire::Json result = answer(*lease, query.cluster, now);
  json_object_set_new(result.get(), "jobs", list);
  return result;
}

wire::Json Reader::job(const std::string& cluster, std::uint32_t job_id, std::int64_t points, double now) {
  Lease lease(*this);
  // of equal ids the newest: a provisional entry is one that no cycle has told of yet
  const std::string sql =
      std::string(kJobColumns) + "WHERE j.cluster=? AND j.job_id=? ORDER BY j.id DESC LIMIT 1";
  Statement row(*lease, sql.c_str());
  if (!row.bind(cluster, job_id).step()) return nullptr;
  const std::int64_t entry = row.integer(0);
  wire::Json job(job_object(row));
  json_object_set_new(job.get(), "batches", batches_of(*lease, entry));
  json_object_set_new(job.get(), "points", points > 0 ? tail_of(*lease, entry, points) : json_array());
  const wire::Json common = answer(*lease, cluster, now);
  json_object_update(job.get(), common.get());
  return job;
}

wire::Json Reader::target(const std::string& cluster, std::uint32_t job_id, double poll) {
  Lease lease(*this);
  if (!lease->target)
    lease->target.emplace(*lease,
                          "SELECT j.ended, d.info, d.status FROM job j LEFT JOIN detail d ON d.job=j.id "
                          "WHERE j.cluster=? AND j.job_id=? ORDER BY j.id DESC LIMIT 1");
  Statement& row = *lease->target;
  if (!row.bind(cluster, job_id).step()) return nullptr;
  const wire::Json info(json_of(row.text(1))), status(json_of(row.text(2)));
  wire::Json told(json_pack("{s:i, s:f, s:s, s:I, s:b, s:O*, s:{s:O*}}", "v", wire::kVersion, "poll", poll,
                            "cluster", cluster.c_str(), "job_id", static_cast<json_int_t>(job_id), "ended",
                            row.integer(0) != 0 ? 1 : 0, "request", json_object_get(info.get(), "request"),
                            "status", "target", json_object_get(status.get(), "target")));
  row.reset();
  return told;
}

std::optional<std::string> Reader::only_cluster() {
  Lease lease(*this);
  Statement rows(*lease,
                 "SELECT min(cluster), max(cluster) FROM (SELECT min(cluster) AS cluster FROM job UNION ALL "
                 "SELECT max(cluster) FROM job UNION ALL SELECT min(cluster) FROM cycle UNION ALL "
                 "SELECT max(cluster) FROM cycle)");
  if (!rows.step() || rows.is_null(0) || rows.text(0) != rows.text(1)) return std::nullopt;
  return std::string(rows.text(0));
}

StoreFacts Reader::facts() {
  Lease lease(*this);
  Database& database = *lease;
  StoreFacts facts;
  facts.live_jobs = database.integer("SELECT count(*) FROM job WHERE ended=0");
  facts.bytes = (database.integer("PRAGMA page_count") - database.integer("PRAGMA freelist_count")) *
                database.integer("PRAGMA page_size");
  Statement rows(database, "SELECT cluster, data FROM cycle ORDER BY cluster");
  while (rows.step()) facts.cycles.emplace_back(rows.text(0), wire::Json(json_of(rows.text(1))));
  return facts;
}

}  // namespace mlq::mlqd
