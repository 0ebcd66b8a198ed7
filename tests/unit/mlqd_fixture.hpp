// SPDX-License-Identifier: GPL-2.0-or-later
// A store in a folder of its own, and short ways to fill it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/check_cpp.hpp"
#include "tools/mlqd/reader.hpp"
#include "tools/mlqd/store.hpp"

namespace mlq::mlqd::test {

inline constexpr std::int64_t kNow = 1'790'000'000;

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/mlqd-test-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(name));
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline wire::Report report(const char* stream, std::int64_t from, std::int64_t to, double loss = 1) {
  wire::Report report{stream, {}};
  for (std::int64_t n = from; n <= to; ++n)
    report.points.push_back({n, static_cast<double>(n), loss, static_cast<double>(kNow + n), 2});
  return report;
}

inline wire::CycleJob job(std::uint32_t job_id, std::int64_t submit, std::uint32_t restarts = 0,
                          bool ended = false, std::int64_t end = 0) {
  wire::CycleJob job;
  job.job_id = job_id;
  job.uid = 1000;
  job.submit = submit;
  job.restarts = restarts;
  job.ended = ended;
  job.end = end;
  job.user = "ann";
  job.info = "{\"job_id\":" + std::to_string(job_id) + ",\"submit\":" + std::to_string(submit) +
             ",\"restarts\":" + std::to_string(restarts) + ",\"state\":\"RUNNING\"}";
  return job;
}

inline Stored add(Store& store, const Reporter& reporter, const wire::Report& report, double now = kNow) {
  store.begin();
  const Stored stored = store.add_report(reporter, report, now);
  store.commit();
  return stored;
}

inline void tell(Store& store, std::vector<wire::CycleJob> jobs, double now = kNow) {
  store.begin();
  store.add_cycle({"c", now, "{\"mode\":\"active\"}", std::move(jobs), {}}, now);
  store.commit();
}

/// The token of job 7 of user 1000 in cluster c.
inline Reporter token(std::int64_t issued = kNow, std::uint32_t restarts = 0) {
  return {"c", 7, 1000, restarts, issued};
}

inline std::int64_t count(Store& store, const char* sql) {
  return store.database().integer(sql);
}

}  // namespace mlq::mlqd::test
