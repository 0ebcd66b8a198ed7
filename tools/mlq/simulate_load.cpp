// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "tools/mlq/simulate.hpp"

namespace mlq::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t largest_file = 64U << 20;

std::string read_file(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) throw SimulateError(path.string() + ": " + error.message());
  if (size > largest_file) throw SimulateError(path.string() + ": larger than 64 MiB");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SimulateError(path.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Names of the files whose notes in index.tsv say that the quantity is maximised.
std::vector<std::string> maximised(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  if (!fs::exists(folder / "index.tsv", error)) return names;
  std::istringstream index(read_file(folder / "index.tsv"));
  for (std::string line; std::getline(index, line);) {
    std::string lower(line);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (lower.find("maximised") != std::string::npos) names.push_back(line.substr(0, line.find('\t')));
  }
  return names;
}

/// What the applications of the Pollux workloads need beyond their measurements: kinds of curves by the start
/// of a file's name, and the middle of the class of replica-hours that they are in.
struct Kind {
  const char* application;
  std::array<const char*, 3> curves;
  double replica_hours;
};
constexpr std::array<Kind, 6> kinds{{{"cifar10", {"cnn-", "obs-", nullptr}, 0.5},
                                     {"ncf", {"rec-", "mf-", nullptr}, 0.5},
                                     {"bert", {"hf-", "pre-", nullptr}, 3},
                                     {"deepspeech2", {"rnn-", "val-", nullptr}, 3},
                                     {"yolov3", {"yolo-", "det-", nullptr}, 30},
                                     {"imagenet", {"cnn-", nullptr, nullptr}, 300}}};

std::vector<std::size_t> curves_of(const Kind* kind, const std::vector<simulation::Trace>& traces) {
  std::vector<std::size_t> fitting, all;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    all.push_back(i);
    if (kind)
      for (const char* start : kind->curves)
        if (start && traces[i].name.rfind(start, 0) == 0) fitting.push_back(i);
  }
  return fitting.empty() ? all : fitting;
}

}  // namespace

std::vector<simulation::Trace> load_traces(const std::string& folder, const std::vector<std::string>& only,
                                           std::size_t& skipped) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() != ".csv") continue;
    if (only.empty() || std::find(only.begin(), only.end(), path.stem()) != only.end()) files.push_back(path);
  }
  if (error) throw SimulateError("--traces " + folder + ": " + error.message());
  for (const std::string& name : only)
    if (std::none_of(files.begin(), files.end(), [&](const fs::path& path) { return path.stem() == name; }))
      throw SimulateError("--only " + name + ": there is no " + name + ".csv in " + folder);
  std::sort(files.begin(), files.end());
  const auto rising = maximised(folder);
  std::vector<simulation::Trace> traces;
  std::string why_not;
  skipped = 0;
  for (const fs::path& path : files) {
    const bool max = std::find(rising.begin(), rising.end(), path.filename()) != rising.end();
    auto trace = simulation::parse_trace(path.stem(), read_file(path), max ? Goal::max : Goal::min, why_not);
    if (trace) {
      traces.push_back(std::move(*trace));
    } else {
      ++skipped;
      std::fprintf(stderr, "mlq: warning: %s is left out: %s\n", path.filename().c_str(), why_not.c_str());
    }
  }
  if (traces.empty())
    throw SimulateError("--traces " + folder + ": no usable curve (files *.csv, header step,loss)");
  return traces;
}

Workload load_workload(const std::string& file, const std::vector<simulation::Trace>& traces) {
  Workload workload;
  std::string why_not;
  if (!simulation::parse_workload(read_file(file), workload.entries, why_not) || workload.entries.empty())
    throw SimulateError("--workload " + file + ": " + (why_not.empty() ? "it holds no job" : why_not));
  for (const auto& entry : workload.entries) {
    auto& known = workload.applications;
    if (std::any_of(known.begin(), known.end(), [&](const auto& a) { return a.name == entry.application; }))
      continue;
    const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const Kind& k) { return entry.application == k.application; });
    const Kind* found = kind == kinds.end() ? nullptr : &*kind;
    simulation::Application application{
        entry.application, curves_of(found, traces), {}, found ? found->replica_hours : 1};
    const bool plain = std::all_of(entry.application.begin(), entry.application.end(),
                                   [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
    const fs::path scaling =
        fs::path(file).parent_path() / ("pollux-scalability-" + entry.application + ".csv");
    std::error_code error;
    if (plain && fs::exists(scaling, error) &&
        !simulation::parse_scaling(read_file(scaling), application.scaling, why_not))
      throw SimulateError(scaling.string() + ": " + why_not);
    known.push_back(std::move(application));
  }
  return workload;
}

}  // namespace mlq::cli
