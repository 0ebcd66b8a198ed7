// SPDX-License-Identifier: GPL-2.0-or-later
// An mlqd of a test: answers on a Unix socket with what the test lays down, or misbehaves.
#pragma once

#include <microhttpd.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

struct FakePoint {
  std::uint32_t job_id;
  std::int64_t submit;
  double iteration;
  double loss;
  double time;
};

class FakeMlqd {
 public:
  enum class Mood { well, hangs, garbage, refuses, floods };

  FakeMlqd();
  ~FakeMlqd();
  FakeMlqd(const FakeMlqd&) = delete;
  FakeMlqd& operator=(const FakeMlqd&) = delete;

  std::string url() const { return "unix:" + path_; }
  void set_mood(Mood mood);
  void add(const FakePoint& point);
  void set_epoch(const std::string& epoch);
  void set_families(const std::string& json);
  void set_jobs(const std::string& json);
  /// What every page of points tells of agents.
  void set_agents(const std::string& json);
  unsigned requests();
  /// Bodies of POST /v1/cycle since the last call.
  std::vector<std::string> take_cycles();

 private:
  static MHD_Result answer(void* self, MHD_Connection* connection, const char* url, const char* method,
                           const char*, const char* upload, std::size_t* upload_size, void** request);
  static void done(void* self, MHD_Connection*, void** request, MHD_RequestTerminationCode);
  std::string reply_to(const std::string& url, MHD_Connection* connection);
  std::string points_after(std::uint64_t after, std::size_t most) const;

  std::string directory_, path_;
  int socket_ = -1;
  MHD_Daemon* daemon_ = nullptr;
  std::mutex lock_;
  unsigned requests_ = 0;
  Mood mood_ = Mood::well;
  std::string epoch_ = "first";
  std::string families_ = "[]", jobs_ = "[]", agents_ = "[]";
  std::vector<FakePoint> points_;
  std::vector<std::string> cycles_;
};
