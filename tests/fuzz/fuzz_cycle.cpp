// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever a scheduler sends is refused with a message that fits into JSON, or what is kept of it is JSON
// again.
#include <cstdint>

#include "core/wire/cycle.hpp"
#include "core/wire/wire.hpp"
#include "tests/fuzz/wire_answer.hpp"

namespace {

void require_object(const std::string& text) {
  std::string error;
  require(mlq::wire::parse_object(text, error) != nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string error;
  const auto cycle = mlq::wire::parse_cycle({reinterpret_cast<const char*>(data), size}, error);
  if (!taken(cycle.has_value(), error)) return 0;
  require(mlq::wire::valid_cluster(cycle->cluster));
  require_object(cycle->data);
  for (const auto& job : cycle->jobs) {
    require(job.job_id > 0 && job.submit > 0 && job.end >= 0);
    require_object(job.info);
    if (job.status) require_object(*job.status);
  }
  for (const auto& family : cycle->families) {
    require(!family.name.empty());
    require_object(family.data);
  }
  return 0;
}
