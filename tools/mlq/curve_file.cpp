// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/curve_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "core/wire/wire.hpp"

namespace mlq::cli {
namespace {

using Names = std::vector<std::string_view>;
const Names kStepNames{"step", "iteration", "iter", "global_step", "_step", "epoch"};
const Names kLossNames{"loss",          "train_loss", "train/loss",
                       "training_loss", "total_loss", "train_loss_step",
                       "eval_loss",     "val_loss",   "val/loss"};
constexpr std::size_t kLargestFile = std::size_t{1} << 28;  // 256 MiB

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view{}
                                         : s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1);
}

std::string in_quotes(std::string_view s) {
  return "'" + printable(s.substr(0, 40)) + (s.size() > 40 ? "...'" : "'");
}

std::string joined(const Names& names) {
  std::string out;
  for (const auto name : names) out += (out.empty() ? "" : ", ") + printable(name.substr(0, 40));
  return out.size() > 300 ? out.substr(0, 300) + "..." : out;
}

// As "Step" of TensorBoard's CSV for step.
bool alike(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char c, unsigned char d) { return std::tolower(c) == std::tolower(d); });
}

// NaN for the spellings of "no number"; nothing for text that is not a number at all.
std::optional<double> number(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end == text.data() + text.size()) {
    if (error == std::errc{}) return value;
    if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
  }
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const auto none : {"null", "none", "na", "n/a", "-", "<na>"})
    if (lower == none) return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw CurveFileError(std::string("cannot be opened: ") + std::strerror(errno));
  std::string text;
  std::array<char, 65536> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kLargestFile) throw CurveFileError("is larger than 256 MiB");
  }
  if (in.bad() || (!in.eof() && in.fail()))
    throw CurveFileError(std::string("cannot be read: ") + std::strerror(errno));
  if (trimmed(text).empty()) throw CurveFileError("is empty");
  if (text.find('\0') != std::string::npos) throw CurveFileError("is not text");
  return text;
}

// --- CSV -------------------------------------------------------------------

char delimiter_of(std::string_view header) {
  char best = ',';
  for (const char c : {'\t', ';'})
    if (std::count(header.begin(), header.end(), c) > std::count(header.begin(), header.end(), best))
      best = c;
  return best;
}

// Cells without surrounding blanks and quotes.
std::vector<std::string_view> cells_of(std::string_view line, char delimiter) {
  std::vector<std::string_view> cells;
  std::size_t from = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') inside = !inside;
    if (i < line.size() && (line[i] != delimiter || inside)) continue;
    std::string_view cell = trimmed(line.substr(from, i - from));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
      cell = trimmed(cell.substr(1, cell.size() - 2));
    cells.push_back(cell);
    from = i + 1;
  }
  return cells;
}

// The column's place; nothing when no name was asked for and none of the usual ones is there.
std::optional<std::size_t> column(const Names& header, const std::string& asked, const Names& usual,
                                  const char* what) {
  const auto place = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto at = std::find(header.begin(), header.end(), name);
    return at == header.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - header.begin()));
  };
  if (!asked.empty()) {
    if (const auto at = place(asked)) return at;
    throw CurveFileError(std::string("has no ") + what + " column " + in_quotes(asked) +
                         "; columns: " + joined(header));
  }
  for (const auto name : usual)
    for (std::size_t i = 0; i < header.size(); ++i)
      if (alike(header[i], name)) return i;
  return std::nullopt;
}

double cell_number(std::string_view cell, const char* what, std::size_t line) {
  if (const auto value = number(cell)) return *value;
  throw CurveFileError("line " + std::to_string(line) + ": " + what + " " + in_quotes(cell) +
                       " is not a number");
}

std::vector<CurveRow> read_csv(std::string_view text, const CurveColumns& columns) {
  std::vector<CurveRow> rows;
  Names header;
  std::optional<std::size_t> step, loss;
  char delimiter = ',';
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);  // not trimmed: a leading tab ends an empty cell
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (trimmed(line).empty() || trimmed(line).front() == '#') continue;
    if (header.empty()) {
      delimiter = delimiter_of(line);
      header = cells_of(line, delimiter);
      step = column(header, columns.step, kStepNames, "step");
      loss = column(header, columns.loss, kLossNames, "loss");
      if (!loss) throw CurveFileError("has no loss column; name one of these with --loss: " + joined(header));
      continue;
    }
    const auto cells = cells_of(line, delimiter);
    if (cells == header) continue;  // a log that was appended to repeats it
    if (*loss >= cells.size() || cells[*loss].empty()) continue;
    CurveRow row{static_cast<double>(rows.size()), cell_number(cells[*loss], "loss", line_number)};
    if (step && (*step >= cells.size() || cells[*step].empty()))
      throw CurveFileError("line " + std::to_string(line_number) + ": a loss without a step");
    if (step) row.step = cell_number(cells[*step], "step", line_number);
    rows.push_back(row);
  }
  return rows;
}

// --- JSON ------------------------------------------------------------------

using wire::Json;

Json parse(std::string_view text, json_error_t& error) {
  return Json(json_loadb(text.data(), text.size(), JSON_ALLOW_NUL, &error));
}

// Python writes NaN and Infinity bare, which JSON does not know: they become null, outside strings only.
std::string without_bare_nan(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') inside = !inside;
    bool replaced = false;
    for (const std::string_view word : {"NaN", "-Infinity", "Infinity"})
      if (!inside && !replaced && text.substr(i, word.size()) == word) {
        out += "null";
        i += word.size() - 1;
        replaced = true;
      }
    if (!replaced) out += c;
  }
  return out;
}

// All keys of the entries, in order.
Names keys_of(const std::vector<const json_t*>& entries) {
  Names keys;
  std::set<std::string_view> seen;
  for (const json_t* entry : entries) {
    json_t* object = const_cast<json_t*>(entry);  // jansson's iterators do not change it
    for (void* at = json_object_iter(object); at != nullptr; at = json_object_iter_next(object, at))
      if (const std::string_view key = json_object_iter_key(at); seen.insert(key).second) keys.push_back(key);
  }
  return keys;
}

// The asked key, or the first usual one that any entry has: one key for the whole file.
std::string key_of(const Names& keys, const std::string& asked, const Names& usual) {
  if (!asked.empty()) return asked;
  for (const auto name : usual)
    for (const auto key : keys)
      if (alike(key, name)) return std::string(key);
  return {};
}

double json_value(const json_t* value, const char* what, std::size_t entry) {
  if (json_is_number(value)) return json_number_value(value);
  if (json_is_null(value)) return std::numeric_limits<double>::quiet_NaN();
  if (json_is_string(value))
    if (const auto parsed = number(trimmed(json_string_value(value)))) return *parsed;
  throw CurveFileError("entry " + std::to_string(entry) + ": " + what + " is not a number");
}

// Entries without a loss (evaluations, summaries) are no rows.
std::vector<CurveRow> rows_of(const std::vector<const json_t*>& entries, const CurveColumns& columns) {
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (!json_is_object(entries[i]))
      throw CurveFileError("entry " + std::to_string(i + 1) + " is not an object");
  const Names keys = keys_of(entries);
  const std::string loss_key = key_of(keys, columns.loss, kLossNames);
  const std::string step_key = key_of(keys, columns.step, kStepNames);
  std::vector<CurveRow> rows;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const json_t* loss = json_object_get(entries[i], loss_key.c_str());
    if (loss == nullptr) continue;
    const json_t* step = json_object_get(entries[i], step_key.c_str());
    if (step == nullptr && !step_key.empty())
      throw CurveFileError("entry " + std::to_string(i + 1) + " has a loss but no step " +
                           in_quotes(step_key));
    rows.push_back({step == nullptr ? static_cast<double>(rows.size()) : json_value(step, "step", i + 1),
                    json_value(loss, "loss", i + 1)});
  }
  if (rows.empty() && !keys.empty())
    throw CurveFileError((columns.loss.empty()
                              ? "has no losses; name one of these with --loss: "
                              : "has no losses named " + in_quotes(columns.loss) + "; keys: ") +
                         joined(keys));
  return rows;
}

std::vector<CurveRow> read_json_lines(std::string_view text, const CurveColumns& columns) {
  std::vector<Json> lines;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    const bool last = end >= text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.empty()) continue;
    json_error_t error;
    Json entry = parse(line, error);
    if (!entry && last && !lines.empty()) break;  // a line that is still being written
    if (!entry)
      throw CurveFileError("line " + std::to_string(line_number) + " is not JSON: " + wire::reason(error));
    lines.push_back(std::move(entry));
  }
  std::vector<const json_t*> entries;
  for (const Json& line : lines) entries.push_back(line.get());
  return rows_of(entries, columns);
}

std::vector<CurveRow> read_json(std::string_view raw, const CurveColumns& columns) {
  const std::string text = without_bare_nan(raw);
  json_error_t error;
  const Json whole = parse(text, error);
  if (!whole) {
    const std::string_view first = trimmed(std::string_view(text).substr(0, text.find('\n')));
    json_error_t ignored;
    if (first.front() == '{' && parse(first, ignored)) return read_json_lines(text, columns);
    throw CurveFileError("line " + std::to_string(error.line) + " is not JSON: " + wire::reason(error));
  }
  const json_t* list =
      json_is_object(whole.get()) ? json_object_get(whole.get(), "log_history") : whole.get();
  if (list == nullptr) return rows_of({whole.get()}, columns);  // a single line of JSON lines
  if (!json_is_array(list)) throw CurveFileError("log_history is not a list");
  std::vector<const json_t*> entries;
  for (std::size_t i = 0; i < json_array_size(list); ++i) entries.push_back(json_array_get(list, i));
  return rows_of(entries, columns);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (std::iscntrl(static_cast<unsigned char>(c))) c = '?';
  return out;
}

std::vector<CurveRow> read_curve(const std::string& path, const CurveColumns& columns) {
  const std::string text = contents(path);
  std::string_view body = text;
  if (body.substr(0, 3) == "\xEF\xBB\xBF") body.remove_prefix(3);
  const char first = trimmed(body).empty() ? ' ' : trimmed(body).front();
  const bool json = first == '{' || first == '[';
  std::vector<CurveRow> rows = json ? read_json(body, columns) : read_csv(body, columns);
  if (rows.empty())
    throw CurveFileError(columns.loss.empty() ? "has no losses"
                                              : "has no losses named " + in_quotes(columns.loss));
  return rows;
}

}  // namespace mlq::cli
