// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/speed_table.hpp"

#include <algorithm>
#include <cmath>

namespace mlq::mlqd {
namespace {

constexpr double kDay = 86400;
constexpr double kHalfLife = 7 * kDay;
constexpr double kForgotten = 60 * kDay;
constexpr double kRate = 0.2;             // of a report that follows at once
constexpr double kMaxStep = 4.0 / 3;      // one report is taken for at most this factor
constexpr std::int64_t kMaxNodes = 8192;  // of one job

std::string ranks_text(const wire::SpeedReport& report) {
  const wire::Json list(json_array());
  for (const wire::RankSpeed& rank : report.ranks)
    json_array_append_new(list.get(), json_pack("[I, I, o]", static_cast<json_int_t>(rank.rank),
                                                static_cast<json_int_t>(rank.size),
                                                rank.speed > 0 ? json_real(rank.speed) : json_null()));
  return wire::to_text(list.get());
}

}  // namespace

double learn_speed(double kept, double reported, double age) {
  const double rate = 1 - (1 - kRate) * std::exp2(-std::max(0.0, age) / kHalfLife);
  const double ratio = reported / kept;
  const double limit = rate > 0.5 ? ratio : std::clamp(ratio, 1 / kMaxStep, kMaxStep);
  return kept * std::pow(limit, rate);
}

SpeedTable::SpeedTable(Database& database)
    : get_(database,
           "SELECT speed, updated FROM node_speed WHERE cluster=? AND uid=? AND family=? AND unit=? AND "
           "node=?"),
      put_(database,
           "INSERT INTO node_speed(cluster, uid, family, unit, node, speed, updated) VALUES(?,?,?,?,?,?,?) "
           "ON CONFLICT DO UPDATE SET speed=excluded.speed, updated=excluded.updated"),
      count_(database, "SELECT count(*) FROM node_speed WHERE cluster=? AND uid=?"),
      trim_(database,
            "DELETE FROM node_speed WHERE cluster=?1 AND uid=?2 AND (family, unit, node) IN "
            "(SELECT family, unit, node FROM node_speed WHERE cluster=?1 AND uid=?2 ORDER BY updated LIMIT "
            "?3)"),
      batch_put_(database,
                 "INSERT INTO batch(job, node, received, data) VALUES(?,?,?,?) "
                 "ON CONFLICT DO UPDATE SET received=excluded.received, data=excluded.data"),
      batch_count_(database, "SELECT count(*) FROM batch WHERE job=?") {}

void SpeedTable::learn(const SpeedKey& key, const std::string& node, double speed, double now) {
  get_.bind(key.cluster, key.uid, key.family, key.unit, node);
  const bool known = get_.step();
  const double kept = known ? get_.real(0) : 0, updated = known ? get_.real(1) : 0;
  get_.reset();
  if (!known) {
    count_.bind(key.cluster, key.uid);
    const std::int64_t rows = count_.step() ? count_.integer(0) : 0;
    count_.reset();
    if (rows >= kMaxRows) trim_.bind(key.cluster, key.uid, rows - kMaxRows + 1).run();
  }
  const double learnt = kept > 0 ? learn_speed(kept, speed, now - updated) : speed;
  put_.bind(key.cluster, key.uid, key.family, key.unit, node, learnt, now).run();
}

void SpeedTable::add(const SpeedKey& key, std::int64_t job, const wire::SpeedReport& report, double now) {
  if (const double speed = report.median_speed(); speed > 0) learn(key, report.node, speed, now);
  batch_count_.bind(job);
  const bool room = batch_count_.step() && batch_count_.integer(0) < kMaxNodes;
  batch_count_.reset();
  const std::string ranks = ranks_text(report);
  if (room) batch_put_.bind(job, report.node, now, ranks).run();
}

wire::Json learnt_speeds(Database& database, const SpeedKey& key, double now) {
  wire::Json speeds(json_object());
  Statement rows(database,
                 "SELECT node, speed FROM node_speed WHERE cluster=? AND uid=? AND family=? AND unit=? AND "
                 "updated>=?");
  for (rows.bind(key.cluster, key.uid, key.family, key.unit, now - kForgotten); rows.step();)
    json_object_set_new(speeds.get(), std::string(rows.text(0)).c_str(), json_real(rows.real(1)));
  return speeds;
}

json_t* batches_of(Database& database, std::int64_t job) {
  json_t* list = json_array();
  Statement rows(database, "SELECT node, received, data FROM batch WHERE job=? ORDER BY node");
  for (rows.bind(job); rows.step();) {
    const std::string_view text = rows.text(2);
    json_t* ranks = json_loadb(text.data(), text.size(), 0, nullptr);
    json_array_append_new(list, json_pack("{s:s%, s:f, s:o*}", "node", rows.text(0).data(),
                                          rows.text(0).size(), "received", rows.real(1), "ranks", ranks));
  }
  return list;
}

}  // namespace mlq::mlqd
