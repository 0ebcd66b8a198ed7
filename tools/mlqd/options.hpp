// SPDX-License-Identifier: GPL-2.0-or-later
// The command line and configuration file of mlqd.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlq::mlqd {

struct Options {
  std::string listen = "0.0.0.0:6850";
  std::string socket = "/run/mlqd/mlqd.sock";
  std::string store = "/var/lib/mlqd/mlqd.db";
  std::string key = "/etc/slurm/mlq.key";
  std::vector<std::string> accept_keys;
  std::vector<std::string> clusters;
  std::vector<std::string> admin_users;
  bool public_status = false;
  double keep_days = 90;
  std::uint64_t max_size = std::uint64_t{4} << 30;
  double rate = 1000;
  double burst = 20000;
  double request_rate = 50;
  double request_burst = 500;
  double poll_rate = 4000;
  std::uint64_t max_body = std::uint64_t{1} << 20;
  unsigned connections = 16384;
  unsigned idle_timeout = 30;
  unsigned threads = 2;
  bool verbose = false;
  std::string make_key;  ///< not "": write a key there and end
};

/// Nothing in `exit_code` (-1) when mlqd is to run; else main() returns it: help and errors are printed
/// already.
Options parse_options(int argc, char** argv, int& exit_code);

}  // namespace mlq::mlqd
