// SPDX-License-Identifier: GPL-2.0-or-later
// Engine: from mlqd.
#include "slurm-plugin/engine/engine.hpp"

namespace mlq::engine {
namespace {

constexpr int pages_per_cycle = 16;

}  // namespace

int Engine::pull(double now) {
  const auto began = std::chrono::steady_clock::now();
  client_.start_cycle();
  pulled_ = config_.mode != MLQ_MODE_OFF && pull_pages(now);
  if (pulled_) last_pull_ = now;
  inbox_.drop_old(now);
  pull_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  return pulled_ ? 0 : -1;
}

/// Several pages while time is left; what remains comes with the next cycle.
bool Engine::pull_pages(double now) {
  if (!families_known_) {
    std::vector<FamilyRecord> records;
    if (!client_.families(now, records)) return false;
    families_.restore(records);
    families_known_ = true;
  }
  for (int page_number = 0; page_number < pages_per_cycle; page_number++) {
    if (inbox_.full() || (page_number > 0 && !client_.time_left())) return true;
    PointsPage page;
    if (!client_.points(after_, now, page)) return page_number > 0;
    if (!take_page(page, now)) return true;
  }
  return true;
}

/// True when the next page should be asked for.
bool Engine::take_page(const PointsPage& page, double now) {
  if (page.epoch != epoch_) {
    const bool from_start = after_ == 0;
    if (!epoch_.empty())
      log_.line(MLQ_LOG_INFO, "mlqd has another store than before: starting again with it");
    epoch_ = page.epoch;
    forget_store();
    if (!from_start) return true;
  }
  for (const ReportedPoint& point : page.points) inbox_.put(point, now);
  for (const AgentReport& agent : page.agents) inbox_.put(agent, now);
  after_ = page.next;
  if (!page.more) caught_up_ = true;
  return page.more;
}

/// Curves stay: what the other store has of a job replaces them point by point.
void Engine::forget_store() {
  after_ = 0;
  caught_up_ = false;
  inbox_.clear();
  families_.mark_all_unsent();
  for (auto& [id, job] : jobs_) job->pushed_at = -1;
}

}  // namespace mlq::engine
