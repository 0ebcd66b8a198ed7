// SPDX-License-Identifier: GPL-2.0-or-later
// The priors of all families, and which of them mlqd has not been told of.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "slurm-plugin/engine/mlqd_client.hpp"

namespace mlq::engine {

class Families {
 public:
  static constexpr std::size_t max_families = 10000;

  /// Takes what mlqd has stored; what this engine learnt since it started stays as it is.
  void restore(const std::vector<FamilyRecord>& records);
  void add(const std::string& name, const RunSummary& run);

  /// Null while no run of that family has ended.
  const FamilyPrior* find(const std::string& name) const;

  std::vector<FamilyRecord> unsent() const;
  void mark_sent(const std::vector<FamilyRecord>& sent);
  void mark_all_unsent();

 private:
  struct Entry {
    FamilyPrior prior;
    bool unsent = false;
  };
  std::map<std::string, Entry> families_;
};

}  // namespace mlq::engine
