// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/log_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/wire/wire.hpp"
#include "tools/mlq/error.hpp"
#include "tools/mlq/format.hpp"

namespace mlq::cli {
namespace {

constexpr std::size_t kLineMax = 65536;
constexpr std::size_t kTextMax = 4096;  ///< of a line that regular expressions go through
constexpr std::array<const char*, 7> kLossNames{
    "loss", "train_loss", "train/loss", "training_loss", "total_loss", "train_loss_step", "train loss"};
constexpr std::array<const char*, 7> kStepNames{"step", "global_step", "_step", "iteration",
                                                "iter", "iterations",  "batch"};

constexpr const char* kNumber = "([-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)(e[-+]?[0-9]+)?|[-+]?(nan|inf(inity)?))";
constexpr const char* kBefore = "(^|[^[:alnum:]_/])";
constexpr const char* kBetween = "['\"]?[[:space:]]*[:=#]?[[:space:]]*\\[?[[:space:]]*";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n\"'");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n\"'") - first + 1);
}

/// The whole text as a number; nan and inf in any case.
std::optional<double> to_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (code == std::errc::result_out_of_range) return INFINITY;
  if (code != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> to_number(const json_t* value) {
  if (json_is_number(value)) return json_number_value(value);
  if (json_is_string(value)) return to_number(std::string_view(json_string_value(value)));
  return std::nullopt;
}

std::vector<std::string> split(std::string_view line, char delimiter) {
  std::vector<std::string> cells;
  for (;;) {
    const auto at = line.find(delimiter);
    cells.emplace_back(trimmed(line.substr(0, at)));
    if (at == std::string_view::npos) return cells;
    line.remove_prefix(at + 1);
  }
}

std::optional<std::string> group(const regex_t& regex, const std::string& line, std::size_t number) {
  std::array<regmatch_t, 10> matches;
  if (number >= matches.size() || regexec(&regex, line.c_str(), matches.size(), matches.data(), 0) != 0 ||
      matches[number].rm_so < 0)
    return std::nullopt;
  return line.substr(static_cast<std::size_t>(matches[number].rm_so),
                     static_cast<std::size_t>(matches[number].rm_eo - matches[number].rm_so));
}

std::optional<double> number_in(const regex_t& regex, const std::string& line, std::size_t number) {
  const auto text = group(regex, line, number);
  return text ? to_number(*text) : std::nullopt;
}

}  // namespace

LogReader::Regex LogReader::compile(const std::string& pattern, int flags) {
  Regex regex(new regex_t, [](regex_t* compiled) {
    regfree(compiled);
    delete compiled;
  });
  if (const int code = regcomp(regex.get(), pattern.c_str(), REG_EXTENDED | flags); code != 0) {
    std::array<char, 128> text;
    regerror(code, regex.get(), text.data(), text.size());
    delete regex.release();
    throw Error("--pattern: \"" + printable(pattern) + "\" is no regular expression: " + text.data());
  }
  return regex;
}

LogReader::LogReader(LogOptions options)
    : options_(std::move(options)),
      pattern_(compile(options_.pattern.empty() ? "x" : options_.pattern, 0)),
      loss_(compile(std::string(kBefore) + "(train(ing)?[_ /]|total[_ ])?loss" + kBetween + kNumber,
                    REG_ICASE)),
      step_(
          compile(std::string(kBefore) + "(global[_ ]?step|step|iteration|iter|batch)s?" + kBetween + kNumber,
                  REG_ICASE)),
      place_(compile(std::string("(epoch") + kBetween + "[0-9.]+[^[]*\\[|[|][[:space:]]*)([0-9]+)/[0-9]+",
                     REG_ICASE)),
      epoch_(compile(std::string(kBefore) + "(epoch)" + kBetween + kNumber, REG_ICASE)) {
  if (!options_.pattern.empty() && pattern_->re_nsub < 1)
    throw Error(
        "--pattern: \"" + printable(options_.pattern) +
        "\" has no group in parentheses: the first is the iteration and the second the loss, or the only one "
        "the loss");
}

bool LogReader::named(const std::string& name, const std::string& wanted, bool loss) const {
  if (!wanted.empty()) return name == wanted;
  const auto& usual = loss ? kLossNames : kStepNames;
  return std::find(usual.begin(), usual.end(), lower(name)) != usual.end();
}

bool LogReader::take_header(const std::vector<std::string>& cells) {
  std::optional<std::size_t> step, epoch, loss;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (to_number(cells[i])) return false;
    if (!loss && named(cells[i], options_.loss, true)) loss = i;
    if (!step && named(cells[i], options_.step, false)) step = i;
    if (!epoch && lower(cells[i]) == "epoch") epoch = i;
  }
  if (!loss) return false;
  step_column_ = step;
  epoch_column_ = epoch;
  loss_column_ = loss;
  columns_ = cells.size();
  return true;
}

LogReader::Found LogReader::from_cells(const std::vector<std::string>& cells) const {
  const auto at = [&](const std::optional<std::size_t>& column) {
    return column ? to_number(cells[*column]) : std::nullopt;
  };
  Found found{at(step_column_), at(epoch_column_), at(loss_column_)};
  if (step_column_ && !found.step) found.loss.reset();  // not a row of the training
  return found;
}

LogReader::Found LogReader::from_json(const json_t* object) const {
  Found found;
  const char* key = nullptr;
  json_t* value = nullptr;
  json_object_foreach(const_cast<json_t*>(object), key, value) {
    if (!found.loss && named(key, options_.loss, true))
      found.loss = json_is_null(value) ? NAN : to_number(value);
    if (!found.step && named(key, options_.step, false)) found.step = to_number(value);
    if (lower(key) == "epoch") found.epoch = to_number(value);
  }
  return found;
}

LogReader::Found LogReader::from_pattern(const std::string& line) const {
  if (pattern_->re_nsub == 1) return {std::nullopt, std::nullopt, number_in(*pattern_, line, 1)};
  const auto step = number_in(*pattern_, line, 1);
  return {step, std::nullopt, step ? number_in(*pattern_, line, 2) : std::nullopt};
}

LogReader::Found LogReader::from_text(const std::string& line) const {
  Found found{number_in(*step_, line, 3), number_in(*epoch_, line, 3), number_in(*loss_, line, 4)};
  if (!found.step) found.step = number_in(*place_, line, 2);  // Epoch 2 [100/500], or tqdm's | 100/500 [
  return found;
}

std::optional<LogReport> LogReader::number(const Found& found) {
  if (!found.loss || (found.step && !std::isfinite(*found.step))) return std::nullopt;
  count_ += 1;
  LogReport report{count_, *found.loss};
  if (found.step) {
    const bool back = last_step_ && *found.step <= *last_step_;
    const bool next_epoch = found.epoch && last_epoch_ && *found.epoch > *last_epoch_;
    if (back && next_epoch)
      offset_ = *last_iteration_;
    else if (back)
      offset_ = 0;  // a resumed run
    report.iteration = offset_ + *found.step;
  }
  last_step_ = found.step;
  last_epoch_ = found.epoch;
  last_iteration_ = report.iteration;
  return report;
}

std::optional<LogReport> LogReader::take(std::string_view text) {
  std::string line(text.substr(0, kLineMax));
  std::replace(line.begin(), line.end(), '\0', ' ');
  if (!options_.pattern.empty()) return number(from_pattern(line.substr(0, kTextMax)));
  std::string error;
  if (line.starts_with('{'))
    if (const wire::Json object = wire::parse_object(line, error)) return number(from_json(object.get()));
  for (const char delimiter : {',', '\t', ';'}) {
    if (line.find(delimiter) == std::string::npos) continue;
    const auto cells = split(line, delimiter);
    if (take_header(cells)) {
      delimiter_ = delimiter;
      return std::nullopt;
    }
  }
  if (delimiter_)
    if (const auto cells = split(line, delimiter_); cells.size() == columns_)
      return number(from_cells(cells));
  return number(from_text(line.substr(0, kTextMax)));
}

}  // namespace mlq::cli
