// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/log_tail.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace mlq::cli {
namespace {

constexpr std::size_t kReadMax = std::size_t{16} << 20;
constexpr std::size_t kPartialMax = std::size_t{1} << 20;

}  // namespace

std::vector<std::string> cut_lines(std::string& buffer) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = buffer.find_first_of("\r\n", begin)) != std::string::npos; begin = end + 1)
    lines.push_back(buffer.substr(begin, end - begin));
  buffer.erase(0, begin);
  if (buffer.size() > kPartialMax) buffer.clear();
  return lines;
}

LogTail::LogTail(std::string path, TailFrom from) : path_(std::move(path)), from_(from) {
  follow_name();
}

LogTail::LogTail(LogTail&& other) noexcept
    : path_(std::move(other.path_)),
      from_(other.from_),
      file_(std::exchange(other.file_, -1)),
      device_(other.device_),
      inode_(other.inode_),
      offset_(other.offset_),
      partial_(std::move(other.partial_)) {}

LogTail::~LogTail() {
  if (file_ >= 0) close(file_);
}

/// Opens the file that has the name now, unless it is open already.
void LogTail::follow_name() {
  struct stat facts {};
  if (stat(path_.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    from_ = TailFrom::beginning;  // a file that comes later is new from its beginning
    return;
  }
  if (file_ >= 0 && facts.st_dev == device_ && facts.st_ino == inode_) return;
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (file_ >= 0) close(file_);
  file_ = file;
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
  offset_ = from_ == TailFrom::end ? facts.st_size : 0;
  from_ = TailFrom::beginning;
  partial_.clear();
}

std::vector<std::string> LogTail::read_lines() {
  std::array<char, 65536> buffer;
  struct stat facts {};
  std::size_t taken = 0;
  if (file_ >= 0 && fstat(file_, &facts) == 0 && facts.st_size < offset_) {
    offset_ = 0;  // truncated: written anew
    partial_.clear();
  }
  while (file_ >= 0 && taken < kReadMax) {
    const ssize_t got = pread(file_, buffer.data(), buffer.size(), offset_);
    if (got <= 0) break;
    partial_.append(buffer.data(), static_cast<std::size_t>(got));
    offset_ += got;
    taken += static_cast<std::size_t>(got);
  }
  std::vector<std::string> lines = cut_lines(partial_);
  if (taken == 0) follow_name();  // only once the old file is read to its end
  return lines;
}

std::string LogTail::rest() {
  return std::exchange(partial_, std::string());
}

}  // namespace mlq::cli
