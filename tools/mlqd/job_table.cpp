// SPDX-License-Identifier: GPL-2.0-or-later
// Identity of jobs. Ids wrap around, and Slurm gives a requeued job a new submit time: an entry is one job
// from its first submission to its last run.
#include "tools/mlqd/store.hpp"

namespace mlq::mlqd {

JobTable::JobTable(Database& database)
    : database_(database),
      newest_(
          database,
          "SELECT id, ended, end_time, restarts FROM job WHERE cluster=? AND job_id=? AND uid=? AND submit>0 "
          "AND first_submit<=? ORDER BY submit DESC LIMIT 1"),
      provisional_(database,
                   "SELECT id, issued FROM job WHERE cluster=? AND job_id=? AND uid=? AND submit=0"),
      same_submit_(database, "SELECT id FROM job WHERE cluster=? AND job_id=? AND uid=? AND submit=?"),
      earlier_(database,
               "SELECT id, restarts, ended FROM job WHERE cluster=? AND job_id=? AND uid=? AND submit>0 AND "
               "submit<? ORDER BY submit DESC LIMIT 1"),
      open_(database,
            "INSERT INTO job(cluster, job_id, uid, submit, first_submit, issued, restarts, ended, end_time, "
            "points, last_report, touched) VALUES(?,?,?,?,?,?,?,0,0,0,0,?)"),
      count_(database, "UPDATE job SET points=points+?, last_report=?, touched=? WHERE id=?"),
      touch_(database, "UPDATE job SET touched=? WHERE id=?"),
      change_(
          database,
          "UPDATE job SET submit=?1, first_submit=CASE first_submit WHEN 0 THEN ?1 ELSE first_submit END, "
          "restarts=?2, ended=?3, end_time=?4, touched=?5, array_job=?6 WHERE id=?7"),
      detail_(database,
              "INSERT INTO detail(job, user, info) VALUES(?,?,?) "
              "ON CONFLICT DO UPDATE SET user=excluded.user, info=excluded.info"),
      status_(database, "UPDATE detail SET status=? WHERE job=?"),
      end_(database, "UPDATE job SET ended=1, end_time=? WHERE id=?"),
      move_points_(database, "UPDATE point SET job=?1 WHERE job=?2 AND time>=?3"),
      move_streams_(database,
                    "INSERT INTO stream(job, name, last_n, updated) "
                    "SELECT ?1, name, last_n, updated FROM stream WHERE job=?2 "
                    "ON CONFLICT DO UPDATE SET last_n=max(last_n, excluded.last_n)"),
      move_batches_(database, "UPDATE OR REPLACE batch SET job=?1 WHERE job=?2 AND received>=?3"),
      move_agent_(database, "UPDATE OR REPLACE agent SET job=?1 WHERE job=?2 AND received>=?3"),
      drop_streams_(database, "DELETE FROM stream WHERE job=?"),
      drop_job_(database, "DELETE FROM job WHERE id=?"),
      recount_(database,
               "UPDATE job SET points=(SELECT count(*) FROM point WHERE job=?1), "
               "last_report=max(last_report, (SELECT last_report FROM job WHERE id=?2)) WHERE id=?1") {}

std::int64_t JobTable::for_report(const Reporter& reporter, double now) {
  newest_.bind(reporter.cluster, reporter.job_id, reporter.uid, reporter.issued + kSkew);
  if (newest_.step()) {
    const std::int64_t entry = newest_.integer(0);
    const bool over = newest_.integer(1) != 0 && newest_.integer(2) + kSkew < reporter.issued;
    const bool requeued = reporter.restarts > newest_.integer(3);
    newest_.reset();
    // a job that was over before this token was made had the same id long ago, unless this run is its requeue
    if (!over || requeued) return entry;
  }
  provisional_.bind(reporter.cluster, reporter.job_id, reporter.uid);
  if (provisional_.step()) {
    const std::int64_t entry = provisional_.integer(0);
    provisional_.reset();
    return entry;
  }
  changed_.push_back({reporter.cluster, reporter.job_id});
  open_.bind(reporter.cluster, reporter.job_id, reporter.uid, 0, 0, reporter.issued, reporter.restarts, now)
      .run();
  return database_.last_id();
}

void JobTable::count_points(std::int64_t entry, std::int64_t added, double now) {
  count_.bind(added, now, now, entry).run();
}

void JobTable::touch(std::int64_t entry, double now) {
  touch_.bind(now, entry).run();
}

std::int64_t JobTable::find_for_cycle(const std::string& cluster, const wire::CycleJob& job) {
  std::int64_t entry = 0;
  same_submit_.bind(cluster, job.job_id, job.uid, job.submit);
  if (same_submit_.step()) entry = same_submit_.integer(0);
  same_submit_.reset();
  if (entry != 0 || job.restarts == 0) return entry;
  earlier_.bind(cluster, job.job_id, job.uid, job.submit);
  if (earlier_.step() && job.restarts >= earlier_.integer(1)) entry = earlier_.integer(0);
  earlier_.reset();
  return entry;
}

void JobTable::update(const std::string& cluster, const wire::CycleJob& job, double now) {
  changed_.push_back({cluster, job.job_id});
  std::int64_t entry = find_for_cycle(cluster, job);
  provisional_.bind(cluster, job.job_id, job.uid);
  std::int64_t provisional = 0;
  if (provisional_.step() && provisional_.integer(1) + kSkew >= job.submit)
    provisional = provisional_.integer(0);
  provisional_.reset();
  if (entry == 0) {
    entry = provisional;
  } else if (provisional != 0) {
    move_curve(provisional, entry, 0);
    drop_job_.bind(provisional).run();
  }
  if (entry == 0) entry = open_new(cluster, job, now);
  change_.bind(job.submit, job.restarts, job.ended, job.end, now, job.array_job_id, entry).run();
  detail_.bind(entry, job.user, job.info).run();
  if (job.status) status_.bind(*job.status, entry).run();
}

std::int64_t JobTable::open_new(const std::string& cluster, const wire::CycleJob& job, double now) {
  open_.bind(cluster, job.job_id, job.uid, job.submit, job.submit, 0, job.restarts, now).run();
  const std::int64_t entry = database_.last_id();
  earlier_.bind(cluster, job.job_id, job.uid, job.submit);
  const std::int64_t earlier = earlier_.step() && earlier_.integer(2) == 0 ? earlier_.integer(0) : 0;
  earlier_.reset();
  if (earlier == 0) return entry;
  // two live jobs never have one id: that one is gone without a word, and what came since is of this one
  move_curve(earlier, entry, static_cast<double>(job.submit));
  end_.bind(job.submit, earlier).run();
  return entry;
}

void JobTable::move_curve(std::int64_t from, std::int64_t to, double since) {
  move_points_.bind(to, from, since).run();
  move_streams_.bind(to, from).run();
  move_agent_.bind(to, from, since).run();
  move_batches_.bind(to, from, since).run();
  recount_.bind(to, from).run();
  if (since > 0) {
    recount_.bind(from, from).run();
  } else {
    drop_streams_.bind(from).run();
  }
}

}  // namespace mlq::mlqd
