// SPDX-License-Identifier: GPL-2.0-or-later
// Follows a file that another process writes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace mlq::cli {

enum class TailFrom { beginning, end };

/// The file may come later, be truncated, or be replaced by another of the same name.
class LogTail {
 public:
  LogTail(std::string path, TailFrom from);
  ~LogTail();
  LogTail(LogTail&& other) noexcept;
  LogTail(const LogTail&) = delete;
  LogTail& operator=(const LogTail&) = delete;
  LogTail& operator=(LogTail&&) = delete;

  /// Whole lines, without their ends, that came since the last call; 16 MiB at most.
  std::vector<std::string> read_lines();
  /// What stands behind the last line end.
  std::string rest();

 private:
  void follow_name();

  std::string path_;
  TailFrom from_;
  int file_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t offset_ = 0;
  std::string partial_;
};

/// Takes the whole lines out of `buffer`, also those that a progress bar overwrites; what is longer than 1
/// MiB without an end is dropped.
std::vector<std::string> cut_lines(std::string& buffer);

}  // namespace mlq::cli
