// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/families.hpp"

namespace mlq::engine {

void Families::restore(const std::vector<FamilyRecord>& records) {
  for (const FamilyRecord& record : records) {
    if (families_.size() >= max_families) return;
    const auto [at, fresh] = families_.try_emplace(record.name);
    if (fresh) at->second.prior.restore(record.mean, record.runs);
  }
}

void Families::add(const std::string& name, const RunSummary& run) {
  const auto found = families_.find(name);
  if (found == families_.end() && families_.size() >= max_families) return;
  Entry& entry = found == families_.end() ? families_[name] : found->second;
  entry.prior.add(run);
  entry.unsent = true;
}

const FamilyPrior* Families::find(const std::string& name) const {
  const auto found = families_.find(name);
  return found == families_.end() || found->second.prior.runs() == 0 ? nullptr : &found->second.prior;
}

std::vector<FamilyRecord> Families::unsent() const {
  std::vector<FamilyRecord> records;
  for (const auto& [name, entry] : families_) {
    if (entry.unsent && entry.prior.runs() > 0)
      records.push_back({name, entry.prior.runs(), entry.prior.summary()});
  }
  return records;
}

void Families::mark_sent(const std::vector<FamilyRecord>& sent) {
  for (const FamilyRecord& record : sent) families_[record.name].unsent = false;
}

void Families::mark_all_unsent() {
  for (auto& [name, entry] : families_) entry.unsent = true;
}

}  // namespace mlq::engine
