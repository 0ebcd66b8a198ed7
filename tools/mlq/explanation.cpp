// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/explanation.hpp"

#include <algorithm>

#include "tools/mlq/format.hpp"

namespace mlq::cli {
namespace {

std::string or_unknown(const std::string& text) {
  return text.empty() ? "unknown" : printable(text);
}

std::string one_or_many(const Number& count, const char* one, const char* many) {
  return integer(count) + (count == 1.0 ? one : many);
}

std::string state_of(const JobView& job) {
  if (job.state == "UNKNOWN") return "the scheduler has not told of it yet";
  std::string text = or_unknown(job.state);
  if (job.cores)
    text += (job.state == "PENDING" ? ", for " : " on ") + one_or_many(job.cores, " core", " cores");
  if (job.start && job.state != "PENDING") text += ", since " + timestamp(job.start);
  if (job.end && job.ended) text += ", ended " + timestamp(job.end);
  if (job.restarts && *job.restarts > 0) text += ", requeued " + one_or_many(job.restarts, " time", " times");
  return text;
}

std::string reported(const JobView& job, double now) {
  if (!job.points.value_or(0)) {
    if (job.state == "PENDING") return "nothing yet: it has not started";
    return "nothing yet: does the script call mlq.attach() and report()? (mlq_report(3))";
  }
  std::string text = one_or_many(job.points, " loss", " losses");
  if (job.iteration)
    text += ", the last at iteration " + integer(job.iteration) + ": " + significant(job.loss, 6);
  if (job.first_loss) text += "; first " + significant(job.first_loss, 6);
  if (job.best_loss) text += ", best " + significant(job.best_loss, 6);
  if (const Number seconds = age(job, now)) text += "; " + duration(seconds) + " ago";
  return text;
}

std::string speed(const JobView& job) {
  if (!job.rate || !(*job.rate > 0)) return "";
  if (*job.rate >= 1) return significant(job.rate, 3) + " iterations a second";
  return significant(1 / *job.rate, 3) + " seconds an iteration";
}

std::string fit_of(const JobView& job) {
  if (job.verdict.empty()) return "";
  const std::string meaning = verdict_meaning(job.verdict);
  std::string text = printable(job.verdict) + (meaning.empty() ? "" : ": " + meaning);
  if (!job.model.empty()) text += " (model " + printable(job.model) + ")";
  return text;
}

std::string forecast_of(const JobView& job) {
  const ForecastView& forecast = job.forecast;
  if (!forecast.predicted) return "";
  std::string text;
  if (job.horizon) text += "in " + duration(job.horizon);
  if (forecast.iterations)
    text += (text.empty() ? "in " : ", ") + significant(forecast.iterations, 3) + " iterations";
  text += ": " + significant(forecast.predicted, 6);
  if (forecast.lower && forecast.upper)
    text +=
        ", with 80 % between " + significant(forecast.lower, 6) + " and " + significant(forecast.upper, 6);
  if (forecast.now) text += "; now, smoothed, " + significant(forecast.now, 6);
  return text;
}

std::string basis_of(const JobView& job) {
  if (job.source == "curve") return "its own curve";
  if (job.source == "family")
    return "earlier runs of its family" + (job.family.empty() ? "" : " " + printable(job.family));
  if (job.source == "optimistic") return "none yet: jobs of an unknown family start optimistically";
  return printable(job.source);
}

std::string gain_of(const JobView& job) {
  if (!job.gain || job.ended) return "";
  std::string text = percent(job.gain) + " of the reachable reduction";
  if (job.horizon) text += " in " + duration(job.horizon);
  if (job.gain_per_core) text += ", " + significant(*job.gain_per_core * 100, 3) + "% per core";
  return text;
}

std::string size_of(const JobView& job) {
  const SizeView& size = job.size;
  if (!size.resized()) return "";
  std::string text;
  if (size.target) {
    text = integer(size.held) + " of " + one_or_many(size.target, " unit", " units") +
           " that it is to have, " + integer(size.base) + " of them its own";
    if (size.since) text += ", since " + timestamp(size.since);
  } else {
    text = "no target";
  }
  if (!size.reason.empty()) text += ": " + printable(size.reason);
  if (!size.change.empty() && size.change != size.reason) text += "; changed last: " + printable(size.change);
  return text;
}

std::string companions_of(const SizeView& size) {
  std::string text;
  for (const CompanionView& one : size.companions)
    text += (text.empty() ? "job " : ", job ") + std::to_string(one.job_id) + " (" +
            one_or_many(one.units, " unit", " units") + ", " + or_unknown(one.state) + ")";
  return text;
}

std::string agent_of(const SizeView& size, double now) {
  if (size.phase.empty()) return "";
  std::string text = printable(size.phase);
  if (size.ranks) text += ", " + one_or_many(size.ranks, " rank", " ranks");
  if (size.moves) text += ", " + one_or_many(size.moves, " move", " moves");
  if (size.lost_s) text += " that cost " + significant(size.lost_s, 4) + " s";
  if (size.move_s) text += ", the last one " + significant(size.move_s, 3) + " s";
  if (size.heard) text += "; heard " + duration(std::max(0.0, now - *size.heard)) + " ago";
  return text;
}

std::string refused_of(const SizeView& size) {
  if (size.refused.empty()) return "";
  return printable(size.refused) + (size.refused_at ? ", " + timestamp(size.refused_at) : "");
}

std::string used_of(const JobView& job) {
  if (!job.core_seconds) return "";
  std::string text = significant(job.core_seconds, 6) + " core-seconds";
  const SizeView& size = job.size;
  if (size.companion_jobs.value_or(0) > 0)
    text += ", of them " + significant(size.used_companions, 6) + " by " +
            one_or_many(size.companion_jobs, " companion", " companions");
  if (size.used_earlier.value_or(0) > 0)
    text += ", " + significant(size.used_earlier, 6) + " in earlier runs";
  return text;
}

std::string rank_of(const JobView& job, const CycleView& cycle) {
  if (!job.rank) return job.ended ? "" : "none";
  std::string text = integer(job.rank);
  if (job.ranked) text += " of " + integer(job.ranked);
  if (job.score) text += ", score " + significant(job.score, 3);
  if (job.site_factor) {
    text += "; adds " + integer(job.site_factor);
    if (cycle.weight) text += " of at most " + integer(cycle.weight);
    text += " to its priority (SITE in sprio)";
  }
  if (cycle.mode == "dry-run") text += "; not applied: mlq_mode=dry-run";
  return text;
}

}  // namespace

std::string verdict_meaning(const std::string& verdict) {
  static constexpr std::pair<const char*, const char*> meanings[] = {
      {"no_data", "fewer reports than a prediction needs"},
      {"improving", "a trend was found, and its predictions held on the curve so far"},
      {"noisy", "it falls, but by less than the noise"},
      {"plateau", "no change worth predicting"},
      {"rising", "the loss grows"},
      {"diverged", "the newest losses are not finite"},
      {"constant", "every loss is the same"},
  };
  for (const auto& [name, meaning] : meanings)
    if (verdict == name) return meaning;
  return "";
}

Explanation explain(const JobView& job, const CycleView& cycle, double now) {
  Explanation lines;
  const auto add = [&](const char* label, const std::string& text) {
    if (!text.empty()) lines.emplace_back(label, text);
  };
  add("Job", shown_id(job) + " " + or_unknown(job.name) + ", user " + or_unknown(job.user) +
                 (job.account.empty() ? "" : ", account " + printable(job.account)) +
                 (job.partition.empty() ? "" : ", partition " + printable(job.partition)));
  add("State", state_of(job));
  const bool plain =
      job.request.empty() || job.request == "on";  // SPANK's word for an option without a value
  add("Asked for", plain ? "--ml-quality" : "--ml-quality=" + printable(job.request));
  add("Reported", reported(job, now));
  add("Speed", speed(job));
  add("Fit", fit_of(job));
  add("Reached", job.fraction ? percent(job.fraction) + " of the reachable reduction" : "");
  add("Forecast", forecast_of(job));
  add("Based on", basis_of(job));
  add("Gain", gain_of(job));
  add("Used", used_of(job));
  add("Size", size_of(job));
  add("Companions", companions_of(job.size));
  add("Agent", agent_of(job.size, now));
  add("Refused", refused_of(job.size));
  add("Rank", rank_of(job, cycle));
  add("Why", printable(job.reason));
  return lines;
}

}  // namespace mlq::cli
