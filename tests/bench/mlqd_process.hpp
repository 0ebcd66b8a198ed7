// SPDX-License-Identifier: GPL-2.0-or-later
// An mlqd of its own for benchmarks, bound to one core, and clients that report to it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bench {

/// A folder in the working folder, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// `points` losses from number `first` on.
std::string report_body(const std::string& stream, long first, int points);

struct MlqdOptions {
  bool tcp = false;     ///< listens on a port of loopback, too
  bool limits = false;  ///< the rates that are the defaults, else none
};

class Mlqd {
 public:
  /// Starts $MLQD, or ./mlqd, on core 0 by its Unix socket. Throws when it does not come up.
  explicit Mlqd(const MlqdOptions& options = {});
  ~Mlqd();
  Mlqd(const Mlqd&) = delete;
  Mlqd& operator=(const Mlqd&) = delete;

  std::string socket() const;                       ///< absolute path
  unsigned port() const noexcept { return port_; }  ///< 0: not by TCP
  double cpu_seconds() const;
  double memory_mib() const;                      ///< resident
  std::string authorization(unsigned job) const;  ///< the whole header line

  /// Sends every body, one after the other, on one connection. False when any was not answered with 200.
  bool send(unsigned job, const std::vector<std::string>& bodies) const;

 private:
  bool alive() const;

  Folder folder_;
  unsigned port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace bench
