// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/follower.hpp"

#include <algorithm>

namespace mlq::run {
namespace {

constexpr Seconds kAnswer(5);
constexpr double kPauseMax = 30;
constexpr double kUnknown = 2;
constexpr double kSoon = 0.2;    ///< changes that come together go together
constexpr double kSpread = 0.1;  ///< of every pause

}  // namespace

double poll_pause(double told, double silence) {
  return std::clamp(told, Follower::kEvery, std::clamp(silence / 4, Follower::kEvery, kPauseMax));
}

double spread(double seconds, std::minstd_rand& random) {
  return seconds * std::uniform_real_distribution(1 - kSpread, 1 + kSpread)(random);
}

Follower::Follower(Loop& loop, const std::string& url, const std::string& token, const std::string& cluster,
                   std::int64_t job, double silence, FollowerHooks hooks)
    : loop_(loop),
      http_(loop, url, token),
      path_("/v1/jobs/" + std::to_string(job) + "?points=0&only=target" +
            (cluster.empty() ? "" : "&cluster=" + cluster)),
      silence_(silence),
      hooks_(std::move(hooks)) {
  poll_timer_ = loop_.after(Seconds(0), [this] { poll(); });
  report_timer_ = loop_.after(Seconds(kSoon), [this] { send_report(); });
}

Follower::~Follower() {
  loop_.cancel(poll_timer_);
  loop_.cancel(report_timer_);
}

void Follower::poll() {
  poll_timer_ = 0;
  http_.ask(path_, "", kAnswer, [this](long status, const std::string& body) { answered(status, body); });
}

void Follower::answered(long status, const std::string& body) {
  const auto news = status == 200 ? parse_job_news(body) : std::nullopt;
  if (news) {
    heard_ = Clock::now();
    pause_ = poll_pause(news->poll, silence_);
    hooks_.news(*news);
  } else if (status == 404) {  // it is there, and has not heard of the job yet
    heard_ = Clock::now();
    pause_ = kUnknown;
  } else {
    pause_ = poll_pause(2 * pause_, silence_);
    if (Clock::now() - heard_ > Seconds(silence_)) {
      heard_ = Clock::now();
      hooks_.silent();
    }
  }
  double pause = spread(pause_, random_);
  if (first_) pause *= std::uniform_real_distribution(0.0, 1.0)(random_);
  first_ = false;
  poll_timer_ = loop_.after(Seconds(pause), [this] { poll(); });
}

void Follower::changed() {
  if (soon_) return;
  soon_ = true;
  loop_.cancel(report_timer_);
  report_timer_ = loop_.after(Seconds(kSoon), [this] { send_report(); });
}

void Follower::send_report() {
  soon_ = false;
  report_timer_ =
      loop_.after(Seconds(spread(kReportEvery / (1 + kSpread), random_)), [this] { send_report(); });
  http_.ask("/v1/agent", hooks_.report(), kAnswer, [](long, const std::string&) {});
}

void Follower::last_report(Seconds limit, std::function<void()> done) {
  loop_.cancel(poll_timer_);
  loop_.cancel(report_timer_);
  soon_ = true;
  http_.ask("/v1/agent", hooks_.report(), limit,
            [done = std::move(done)](long, const std::string&) { done(); });
}

}  // namespace mlq::run
