// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/speed_trace.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

namespace mlq::cli {
namespace {

struct Sample {
  double speed = 0;
  balance::NodeState state;
};

using Fields = std::vector<std::string>;

Fields split(const std::string& line) {
  Fields fields;
  std::size_t from = 0;
  for (std::size_t comma; (comma = line.find(',', from)) != std::string::npos; from = comma + 1)
    fields.push_back(line.substr(from, comma - from));
  fields.push_back(line.substr(from));
  if (!fields.back().empty() && fields.back().back() == '\r') fields.back().pop_back();
  return fields;
}

class Header {
 public:
  Header(const std::string& path, const Fields& names) : path_(path), names_(names) {}
  int find(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return static_cast<int>(i);
    return -1;
  }
  double number(const Fields& row, int column, std::size_t line) const {
    const auto& text = row[static_cast<std::size_t>(column)];
    double value = NAN;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc{} || end.ptr != text.data() + text.size() || !std::isfinite(value))
      fail(line,
           names_[static_cast<std::size_t>(column)] + " is '" + text + "', a finite number is expected");
    return value;
  }
  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    throw std::runtime_error(path_ + ": line " + std::to_string(line) + ": " + what);
  }

 private:
  std::string path_;
  Fields names_;
};

balance::SpeedTrace common_iterations(const std::map<std::string, std::vector<Sample>>& workers) {
  balance::SpeedTrace trace;
  std::size_t length = SIZE_MAX;
  for (const auto& [name, samples] : workers) {
    trace.workers.push_back(name);
    length = std::min(length, samples.size());
  }
  for (std::size_t k = 0; k < length; ++k) {
    auto& speeds = trace.speeds.emplace_back();
    auto& states = trace.states.emplace_back();
    for (const auto& [name, samples] : workers) {
      speeds.push_back(samples[k].speed);
      states.push_back(samples[k].state);
    }
  }
  return trace;
}

}  // namespace

balance::SpeedTrace read_speed_trace(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file) throw std::runtime_error(path + ": cannot be read: " + std::strerror(errno));
  if (!std::getline(file, line)) throw std::runtime_error(path + ": is empty, or no file");
  const Fields names = split(line);
  const Header header(path, names);
  const int worker = header.find("worker"), speed = header.find("speed");
  int time = header.find("batch_time");
  if (time < 0) time = header.find("batch_time_norm");
  if (worker < 0 || (speed < 0 && time < 0))
    header.fail(1, "the columns 'worker' and one of 'speed', 'batch_time', 'batch_time_norm' are needed");
  const int cpu = header.find("cpu"), memory = header.find("memory"), stall = header.find("stall");

  std::map<std::string, std::vector<Sample>> workers;
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const Fields row = split(line);
    if (row.size() != names.size())
      header.fail(number,
                  std::to_string(row.size()) + " fields, the header has " + std::to_string(names.size()));
    const double value = header.number(row, speed >= 0 ? speed : time, number);
    if (!(value > 0))
      header.fail(number, "speed or time is " + std::to_string(value) + ", it must be above 0");
    Sample sample{.speed = speed >= 0 ? value : 1 / value, .state = {}};
    if (cpu >= 0) sample.state.cpu = header.number(row, cpu, number);
    if (memory >= 0) sample.state.memory = header.number(row, memory, number);
    if (stall >= 0) sample.state.stall = header.number(row, stall, number);
    workers[row[static_cast<std::size_t>(worker)]].push_back(sample);
  }
  if (workers.empty()) throw std::runtime_error(path + ": no rows below the header");
  return common_iterations(workers);
}

}  // namespace mlq::cli
