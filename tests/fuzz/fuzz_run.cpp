// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever another agent, a worker or mlqd sends is refused, or is in its ranges and goes the same way back.
#include <cstdint>
#include <string>

#include "tests/fuzz/require.hpp"
#include "tools/mlq/run/companion_plan.hpp"
#include "tools/mlq/run/message.hpp"

namespace {

void check_news(const std::string& text) {
  const auto news = mlq::run::parse_job_news(text);
  if (!news || !news->target) return;
  require(news->target->units >= news->target->base && news->target->base >= 0);
  const auto plan = mlq::run::plan_companions(*news->target, {{3, mlq::run::CompanionState::joined, "p"},
                                                              {2, mlq::run::CompanionState::pending, "p"}});
  std::int64_t sum = 0;
  for (const auto& grant : plan.submit) sum += grant.units;
  require(sum <= news->target->units - news->target->base);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string buffer(reinterpret_cast<const char*>(data), size);
  check_news(buffer);
  require(mlq::run::bytes_of_text(mlq::run::text_of_bytes(buffer)) == buffer);
  std::vector<std::string> lines;
  mlq::run::cut_messages(buffer, 1 << 16, lines);
  for (const std::string& line : lines) {
    std::string error;
    const auto message = mlq::run::parse_message(line, error);
    require(message.has_value() == error.empty());
    if (!message) continue;
    require(message->ranks >= 0 && message->ranks <= mlq::run::kRanksMax && message->seconds >= 0);
    const std::string again = mlq::run::to_line(*message);
    const auto second = mlq::run::parse_message(again, error);
    require(second && mlq::run::to_line(*second) == again);
  }
  return 0;
}
