// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever an agent sends is refused with a message that fits into JSON, or what is kept of it is a bounded
// object that is accepted again.
#include <cstdint>

#include "core/wire/agent.hpp"
#include "core/wire/wire.hpp"
#include "tests/fuzz/wire_answer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string error;
  const auto state = mlq::wire::parse_agent({reinterpret_cast<const char*>(data), size}, error);
  if (!taken(state.has_value(), error)) return 0;
  require(state->time > 0);
  const mlq::wire::Json kept = mlq::wire::parse_object(state->data, error);
  require(kept != nullptr);
  require(json_array_size(json_object_get(kept.get(), "companions")) <= mlq::wire::kCompanionsMax);
  json_object_set_new(kept.get(), "v", json_integer(1));
  const auto again = mlq::wire::parse_agent(mlq::wire::to_text(kept.get()), error);
  require(again.has_value() && again->data == state->data);
  return 0;
}
