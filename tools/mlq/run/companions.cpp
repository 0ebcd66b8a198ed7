// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/companions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "tools/mlq/run/environment.hpp"

namespace mlq::run {
namespace {

constexpr Seconds kCommand(30);  ///< for one command of Slurm
constexpr double kLookPending = 3, kLookJoined = 15;
constexpr double kBackOff = 60, kBackOffMax = 3600;
constexpr std::int64_t kWorthMinutes = 2;  ///< a companion that must end before is not worth its start
constexpr int kCancelTries = 3;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Slurm's "(null)" and its like.
std::string given(const std::string& field) {
  return field == "(null)" || field == "N/A" ? "" : field;
}

bool over(const std::string& state) {
  static constexpr std::array<std::string_view, 10> kOver{
      "BOOT_FAIL", "CANCELLED", "COMPLETED",     "DEADLINE", "FAILED",
      "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "TIMEOUT",  "REVOKED"};
  return std::find(kOver.begin(), kOver.end(), state) != kOver.end();
}

}  // namespace

double wall_time() {
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::optional<ParentJob> parse_parent(const std::string& output, std::int64_t job) {
  std::istringstream lines(output);
  const std::string own = std::to_string(job) + '\t';
  std::string line;
  while (!line.starts_with(own))
    if (!std::getline(lines, line)) return std::nullopt;
  std::istringstream fields(line.substr(own.size()));
  std::array<std::string, 5> part;
  for (std::string& text : part)
    if (!std::getline(fields, text, '\t')) return std::nullopt;
  const auto minutes = companion_minutes(part[3]);
  if (!minutes) return std::nullopt;
  ParentJob parent;
  parent.account = given(part[0]);
  parent.qos = given(part[1]);
  parent.reservation = given(part[2]);
  parent.constraint = given(part[4]);
  parent.minutes = *minutes;
  return parent;
}

Companions::Companions(Loop& loop, Processes& processes, Group& group, CompanionOptions options,
                       Message welcome, Say say, Take take)
    : loop_(loop),
      group_(group),
      options_(std::move(options)),
      welcome_(std::move(welcome)),
      say_(std::move(say)),
      take_(std::move(take)),
      commands_(loop, processes, command_environment(options_.own)) {
  look_timer_ = loop_.after(Seconds(kLookPending), [this] { look(); });
}

Companions::~Companions() {
  loop_.cancel(look_timer_);
}

Companions::Record* Companions::find(std::int64_t ticket) {
  const auto found = std::find_if(records_.begin(), records_.end(),
                                  [&](const auto& record) { return record->ticket == ticket; });
  return found == records_.end() ? nullptr : found->get();
}

void Companions::forget(std::int64_t ticket) {
  // later: this may be called by its own link
  loop_.defer([this, ticket] {
    std::erase_if(records_, [&](const auto& record) { return record->ticket == ticket; });
  });
}

std::vector<CompanionView> Companions::views() const {
  std::vector<CompanionView> list;
  list.reserve(records_.size());
  for (const auto& record : records_)
    list.push_back({record->grant.units,
                    record->leaving  ? CompanionState::leaving
                    : record->joined ? CompanionState::joined
                                     : CompanionState::pending,
                    record->grant.partition, record->job});
  return list;
}

void Companions::follow(const Target& target) {
  if (stopped_ || group_.ending()) return;
  options_.unit = unit_of(target, options_.unit);
  const CompanionPlan plan = plan_companions(target, views());
  std::vector<Record*> going;
  going.reserve(plan.release.size());
  for (const std::size_t index : plan.release) going.push_back(records_[index].get());
  release(going);
  if (plan.submit.empty() || !group_.can_move() || Clock::now() < not_before_) return;
  for (const Grant& grant : plan.submit) submit(grant);
}

void Companions::submit(const Grant& grant) {
  auto record = std::make_unique<Record>();
  record->ticket = ++last_ticket_;
  record->grant = grant;
  records_.push_back(std::move(record));
  ask_parent(last_ticket_);
}

void Companions::ask_parent(std::int64_t ticket) {
  commands_.run({"squeue", "--noheader", "--jobs=" + std::to_string(options_.job),
                 std::string("--format=") + kParentFormat},
                kCommand, [this, ticket](const CommandResult& result) {
                  Record* record = find(ticket);
                  if (!record || record->leaving || stopped_) {
                    forget(ticket);
                    return;
                  }
                  auto parent = result.status == 0 ? parse_parent(result.output, options_.job) : std::nullopt;
                  if (!parent)
                    refuse(*record,
                           "squeue does not tell this job's account and time: " + first_line(result.error));
                  else if (parent->minutes > 0 && parent->minutes < kWorthMinutes)
                    refuse(*record, "less than 2 minutes are left of this job's time");
                  else
                    send_batch(ticket, *parent);
                });
}

void Companions::send_batch(std::int64_t ticket, const ParentJob& facts) {
  Record& record = *find(ticket);
  ParentJob parent = facts;
  parent.job = options_.job;
  parent.name = "mlq-companion-of-" + std::to_string(options_.job);
  const auto variable = [&](const char* name) {
    const auto found = options_.own.find(name);
    return found == options_.own.end() ? std::int64_t{0} : std::strtoll(found->second.c_str(), nullptr, 10);
  };
  parent.memory_per_gpu = variable("SLURM_MEM_PER_GPU");
  parent.memory_per_cpu = variable("SLURM_MEM_PER_CPU");
  if (const std::int64_t memory = variable("SLURM_MEM_PER_NODE"); memory > 0)
    parent.memory_per_cpu = memory / std::max<std::int64_t>(1, node_size(options_.own).cores);
  const std::string script = "exec " + shell_quoted(options_.program) + " run --join " + options_.address +
                             ":" + std::to_string(options_.port());
  Environment environment = companion_environment(options_.own);
  environment["MLQ_AGENT_SECRET"] = options_.secret;
  environment["MLQ_AGENT_TICKET"] = std::to_string(ticket);
  record.since = Clock::now();
  commands_.run(
      sbatch_command(parent, options_.unit, record.grant, options_.directory, script), kCommand,
      [this, ticket](const CommandResult& result) { submitted(ticket, result); }, &environment);
}

void Companions::submitted(std::int64_t ticket, const CommandResult& result) {
  const std::int64_t job = result.status == 0 ? parse_sbatch(result.output) : 0;
  Record* record = find(ticket);
  if (job > 0 && (!record || record->leaving || stopped_)) {
    cancel(job, kCancelTries);
    forget(ticket);
    return;
  }
  if (!record) return;
  if (job <= 0) {
    refuse(*record, "sbatch: " + first_line(result.error.empty() ? result.output : result.error));
    return;
  }
  record->job = job;
  if (record->member) record->member->job = job;
  say_("companion job " + std::to_string(job) + " asked for: " + std::to_string(record->grant.units) +
       " units in partition " + record->grant.partition);
}

void Companions::refuse(Record& record, const std::string& why) {
  refusal_ = {why, wall_time()};
  back_off_ = std::clamp(2 * back_off_, kBackOff, kBackOffMax);
  not_before_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(back_off_));
  say_("no companion: " + why);
  if (record.job > 0) cancel(record.job, kCancelTries);
  record.leaving = true;
  forget(record.ticket);
}

void Companions::cancel(std::int64_t job, int tries) {
  commands_.run({"scancel", std::to_string(job)}, kCommand, [this, job, tries](const CommandResult& result) {
    if (result.status != 0 && tries > 1)
      loop_.after(Seconds(2), [this, job, tries] { cancel(job, tries - 1); });
  });
}

void Companions::release(const std::vector<Record*>& records) {
  std::vector<Member*> members;
  members.reserve(records.size());
  for (Record* record : records) {
    if (record->leaving) continue;
    record->leaving = true;
    if (record->member) {
      members.push_back(record->member);  // its agent ends the job when the workers have left
    } else if (record->job > 0) {
      cancel(record->job, kCancelTries);
      forget(record->ticket);
    }  // else when sbatch answers
  }
  group_.release(members);
}

void Companions::release_all() {
  std::vector<Record*> all;
  all.reserve(records_.size());
  for (const auto& record : records_) all.push_back(record.get());
  release(all);
}

void Companions::stop() {
  stopped_ = true;
  loop_.cancel(look_timer_);
  std::vector<Record*> waiting;
  for (const auto& record : records_)
    if (!record->member) waiting.push_back(record.get());
  release(waiting);
}

std::string Companions::host_name(const Message& join) const {
  return (join.host.empty() ? "another node" : join.host) + " (job " + std::to_string(join.job) + ")";
}

void Companions::let_in(std::unique_ptr<Link> link, const Message& join) {
  Record* record = find(join.ticket);
  if (!record || record->leaving || record->member || stopped_ || group_.ending()) {
    Message leave;
    leave.kind = Kind::leave;
    link->send(leave);
    link->flush(Seconds(1));
    return;
  }
  record->joined = true;
  record->link = std::move(link);
  back_off_ = 0;
  refusal_ = {};
  Member member;
  member.ticket = record->ticket;
  member.job = record->job > 0 ? record->job : join.job;
  member.units = record->grant.units;
  member.cores = std::max<std::int64_t>(join.cores, 1);
  member.ranks = ranks_of(options_.ranks, member.units);
  member.name = host_name(join);
  member.send = [this, ticket = record->ticket](const Message& message) {
    if (Record* to = find(ticket); to && to->link) to->link->send(message);
  };
  record->member = &group_.add(std::move(member));
  record->link->listen([this, at = record->member](const Message& message) { take_(*at, message); },
                       [this, at = record->member](const std::string& why) { group_.lose(*at, why); });
  record->link->send(welcome_);
  group_.admit(*record->member);
}

void Companions::gone(const Member& member, const std::string& why) {
  Record* record = find(member.ticket);
  if (!record) return;
  const std::int64_t job = record->job > 0 ? record->job : member.job;
  record->member = nullptr;
  if (record->link) record->link->flush(Seconds(1));
  if (!why.empty()) {  // whether or not its agent can still do so
    record->link.reset();
    if (job > 0) cancel(job, kCancelTries);
    not_before_ = std::max(not_before_, Clock::now() + std::chrono::seconds(10));
  }
  record->leaving = true;
  forget(member.ticket);
}

void Companions::look() {
  const bool waiting =
      std::any_of(records_.begin(), records_.end(), [](const auto& record) { return !record->joined; });
  look_timer_ = loop_.after(Seconds(waiting ? kLookPending : kLookJoined), [this] { look(); });
  std::string ids;
  for (const auto& record : records_)
    if (record->job > 0 && !record->leaving) ids += (ids.empty() ? "" : ",") + std::to_string(record->job);
  if (ids.empty() || looking_) return;
  looking_ = true;
  commands_.run({"squeue", "--noheader", "--states=all", "--jobs=" + ids, "--format=%i\t%T\t%r"}, kCommand,
                [this](const CommandResult& result) {
                  looking_ = false;
                  if (result.status == 0) take_queue(result);  // else nothing is known: nothing is done
                });
}

void Companions::take_queue(const CommandResult& result) {
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string id, state, reason;
    std::getline(fields, id, '\t');
    std::getline(fields, state, '\t');
    std::getline(fields, reason);
    for (const auto& record : records_)
      if (std::to_string(record->job) == id && !record->leaving) take_state(*record, state, reason);
  }
}

void Companions::take_state(Record& record, const std::string& state, const std::string& reason) {
  std::string what = "companion job ";
  what.append(std::to_string(record.job)).append(" is ").append(state);
  if (over(state) && record.member) {
    group_.lose(*record.member, what);
  } else if (over(state)) {
    refuse(record, what + " before its agent came");
  } else if (!record.joined && state == "RUNNING" && !record.started) {
    record.started = true;
    record.since = Clock::now();
  } else if (!record.joined && Clock::now() - record.since > Seconds(options_.start_limit)) {
    what.append(" (").append(reason).append(") after ");
    refuse(record, what + std::to_string(static_cast<int>(options_.start_limit)) + " s");
  }
}

}  // namespace mlq::run
