// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/het_sizes.hpp"

#include <algorithm>
#include <utility>

namespace mlq::engine {
namespace {

std::vector<std::uint32_t> bases(const std::vector<SizedComponent>& components) {
  std::vector<std::uint32_t> units;
  units.reserve(components.size());
  for (const SizedComponent& one : components) units.push_back(one.base);
  return units;
}

}  // namespace

std::uint32_t HetSizes::least(const SizedComponent& component) const {
  return std::min(std::max(component.range.min, 1U), component.base);
}

std::uint32_t HetSizes::largest(const SizedComponent& component) const {
  return std::max(std::min(component.range.max, component.room), component.base);
}

HetSizes::HetSizes(std::vector<SizedComponent> components, std::uint32_t others)
    : components_(std::move(components)), others_(others) {
  std::uint32_t cpus = now();
  cpus_.push_back(cpus);
  for (auto one = components_.rbegin(); one != components_.rend(); ++one) {
    for (std::uint32_t units = one->base; units > least(*one) && cpus_.size() < most / 2; units--)
      cpus_.push_back(cpus -= one->range.unit);
  }
  std::reverse(cpus_.begin(), cpus_.end());
  cpus = now();
  for (const SizedComponent& one : components_) {
    for (std::uint32_t units = one.base; units < largest(one) && cpus_.size() < most; units++)
      cpus_.push_back(cpus += one.range.unit);
  }
}

std::uint32_t HetSizes::now() const {
  return cpus_of(bases(components_));
}

std::uint32_t HetSizes::cpus_of(const std::vector<std::uint32_t>& units) const {
  std::uint32_t cpus = others_;
  for (std::size_t i = 0; i < components_.size() && i < units.size(); i++)
    cpus += units[i] * components_[i].range.unit;
  return cpus;
}

std::vector<std::uint32_t> HetSizes::units_at(std::uint32_t cpus) const {
  std::vector<std::uint32_t> units = bases(components_);
  std::uint32_t have = now();
  const bool grows = cpus > have;
  for (std::size_t i = components_.size(); i-- > 0;) {
    const SizedComponent& one = components_[i];
    for (; have > cpus && units[i] > least(one); units[i]--) have -= one.range.unit;
  }
  for (std::size_t i = 0; grows && i < components_.size(); i++) {
    const SizedComponent& one = components_[i];
    for (; units[i] < largest(one) && have + one.range.unit <= cpus; units[i]++) have += one.range.unit;
    if (units[i] < largest(one)) break;
  }
  return units;
}

}  // namespace mlq::engine
