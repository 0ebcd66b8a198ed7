// SPDX-License-Identifier: GPL-2.0-or-later
// The sizes that a heterogeneous job can come to, component by component: one row of them, by CPUs of all
// components together, so that its curve and speed say what each is worth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "slurm-plugin/engine/size_range.hpp"

namespace mlq::engine {

/// A component whose size may be chosen.
struct SizedComponent {
  std::uint32_t offset = 0;  ///< which one it is, from 0
  SizeRange range;
  std::uint32_t base = 1;  ///< units that it has
  std::uint32_t room = 1;  ///< units that it could start on, >= base
};

/// From the smallest to the largest: the first component grows until it has no room or all of its range, then
/// the next; the last one shrinks first. What the job has now is one of the sizes.
class HetSizes {
 public:
  static constexpr std::size_t most = 1024;  ///< sizes; of longer ranges those nearest to the present one

  /// `others`: CPUs of the components that keep their size. `components` by rising offset.
  HetSizes(std::vector<SizedComponent> components, std::uint32_t others);

  const std::vector<SizedComponent>& components() const { return components_; }
  /// CPUs of all components, ascending.
  const std::vector<std::uint32_t>& cpus() const { return cpus_; }
  std::uint32_t now() const;
  /// Units of each of components(), at the largest size that has no more than so many CPUs.
  std::vector<std::uint32_t> units_at(std::uint32_t cpus) const;
  /// CPUs of all components, with so many units of each of components().
  std::uint32_t cpus_of(const std::vector<std::uint32_t>& units) const;

 private:
  std::uint32_t least(const SizedComponent& component) const;
  std::uint32_t largest(const SizedComponent& component) const;

  std::vector<SizedComponent> components_;
  std::uint32_t others_ = 0;
  std::vector<std::uint32_t> cpus_;
};

}  // namespace mlq::engine
