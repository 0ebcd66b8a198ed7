// SPDX-License-Identifier: GPL-2.0-or-later
// Agents of `mlq run` and the ranks beside them, many in one thread: what each of them asks mlqd and when.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "tests/bench/mlqd_process.hpp"

namespace bench {

/// Seconds of a monotonic clock.
double seconds();

/// Where target number `round` of a job stands in an answer: the end of its reason.
std::string target_mark(unsigned round);

struct CrowdOptions {
  unsigned agents = 0;  ///< of jobs 1 to this
  unsigned points = 2;  ///< losses in a report
  std::string query;    ///< of a poll
};

struct CrowdFigures {
  std::vector<double> polls, reports, states;  ///< seconds from the request to its answer
  std::uint64_t errors = 0;                    ///< no answer, or another than 200
  std::string first_error;
  double lateness = 0;                           ///< seconds that requests began after they were due, longest
  std::map<unsigned, std::vector<double>> seen;  ///< round of a target, when each agent had it, seconds()
  std::uint64_t poll_bytes = 0;                  ///< of the bodies
};

/// An agent polls a second after each answer and tells its state every 10 s, on connections that are kept;
/// its rank reports once a second on another one. When each begins is spread by chance.
class Crowd {
 public:
  Crowd(const Mlqd& mlqd, const CrowdOptions& options);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  void run(double until);  ///< seconds(); then what is under way stays so until the next run()
  CrowdFigures take_figures();

 private:
  enum class Kind : std::uint8_t { poll, state, report };
  struct Client;
  /// Agents that share libcurl's tables: those of few, for it looks through them in line.
  struct Group {
    Crowd* crowd;
    std::uint64_t number;
    CURLM* multi;
    double timer = -1;  ///< when libcurl wants to be called, -1 = not
  };
  struct Due {
    double when;
    Client* client;
    bool operator<(const Due& other) const { return when > other.when; }
  };

  static int on_socket(CURL* easy, curl_socket_t fd, int what, void* group, void* known);
  static int on_timer(CURLM* multi, long timeout_ms, void* group);
  void add_group();
  void add(const Mlqd& mlqd, unsigned job, Kind kind);
  void begin(Client& client, double now);
  void finish(const CURLMsg& message);
  void note_targets(Client& client, double now);
  void act(Group& group, curl_socket_t fd, int what);
  void wait(double until);

  CrowdOptions options_;
  int epoll_;
  std::minstd_rand random_{1};
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::priority_queue<Due> due_;
  CrowdFigures figures_;
};

}  // namespace bench
