// SPDX-License-Identifier: GPL-2.0-or-later
// The mlq_ tokens of SchedulerParameters.
#include <strings.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string_view>

#include "core/allocation/policy.hpp"
#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/engine/log.hpp"

namespace mlq::engine {
namespace {

constexpr std::size_t socket_path_max = 107;  // sun_path without its NUL

struct NumberKey {
  std::string_view key;
  std::uint32_t mlq_config_t::*field;
  std::uint32_t low, high, fallback;
};

constexpr std::array<NumberKey, 7> number_keys{{
    {"mlq_interval", &mlq_config_t::interval_s, 1, 3600, 3},
    {"mlq_weight", &mlq_config_t::weight, 0, 1000000, 10000},
    {"mlq_horizon", &mlq_config_t::horizon_s, 1, 86400, 60},
    {"mlq_timeout", &mlq_config_t::timeout_ms, 10, 60000, 1000},
    {"mlq_lead", &mlq_config_t::lead_s, 1, 3600, 30},
    {"mlq_dwell", &mlq_config_t::dwell_s, 0, 86400, 60},
    {"mlq_requeue_grace", &mlq_config_t::requeue_grace_s, 1, 86400, 300},
}};

constexpr const char* default_url = "unix:/run/mlqd/mlqd.sock";
constexpr const char* all_keys =
    "mlq_mode, mlq_interval, mlq_weight, mlq_horizon, mlq_timeout, mlq_url, mlq_key, mlq_resize, mlq_lead, "
    "mlq_dwell, mlq_tail, mlq_resize_partitions, mlq_resize_accounts, mlq_sizing, "
    "mlq_requeue_grace";
constexpr double default_tail = PolicyOptions().tail, most_tail = 100;

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

bool valid_url(std::string_view value) {
  constexpr std::string_view unix_scheme = "unix:";
  if (!printable(value)) return false;
  if (value.starts_with(unix_scheme)) {
    value.remove_prefix(unix_scheme.size());
    return value.size() > 1 && value.size() <= socket_path_max && value.front() == '/';
  }
  for (std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (!value.starts_with(scheme)) continue;
    value.remove_prefix(scheme.size());
    return !value.empty() && value.find_first_of("/@?#") == std::string_view::npos;
  }
  return false;
}

template <std::size_t size>
void copy(char (&to)[size], std::string_view from) {
  const std::size_t length = std::min(from.size(), size - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

class Parser {
 public:
  Parser(mlq_config_t& out, Log log) : out_(out), log_(log) {}

  void token(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view key = trim(text.substr(0, equals));
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : trim(text.substr(equals + 1));
    if (key.size() < 4 || !same(key.substr(0, 4), "mlq_")) return;
    for (const NumberKey& number : number_keys) {
      if (same(key, number.key)) return take_number(number, value);
    }
    if (same(key, "mlq_mode")) return take_mode(value);
    if (same(key, "mlq_url")) return take_url(value);
    if (same(key, "mlq_key")) return take_key(value);
    if (same(key, "mlq_resize")) return take_resize(value);
    if (same(key, "mlq_tail")) return take_tail(value);
    if (same(key, "mlq_sizing")) return take_sizing(value);
    if (same(key, "mlq_resize_partitions")) return take_names(key, value, out_.resize_partitions);
    if (same(key, "mlq_resize_accounts")) return take_names(key, value, out_.resize_accounts);
    log_.line(MLQ_LOG_ERROR, "SchedulerParameters: unknown key %.*s, ignored; known are %s", width(key),
              key.data(), all_keys);
  }

 private:
  static int width(std::string_view text) {
    return static_cast<int>(std::min<std::size_t>(text.size(), 200));
  }

  void take_number(const NumberKey& number, std::string_view value) {
    std::uint32_t parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error == std::errc() && end == value.data() + value.size() && parsed >= number.low &&
        parsed <= number.high) {
      out_.*number.field = parsed;
      return;
    }
    out_.*number.field = number.fallback;
    log_.line(MLQ_LOG_ERROR,
              "SchedulerParameters: %s=%.*s: a whole number from %u to %u is allowed, using %u",
              number.key.data(), width(value), value.data(), number.low, number.high, number.fallback);
  }

  void take_mode(std::string_view value) {
    if (same(value, "active")) {
      out_.mode = MLQ_MODE_ACTIVE;
    } else if (same(value, "dry-run")) {
      out_.mode = MLQ_MODE_DRY_RUN;
    } else if (same(value, "off")) {
      out_.mode = MLQ_MODE_OFF;
    } else {
      out_.mode = MLQ_MODE_ACTIVE;
      log_.line(MLQ_LOG_ERROR,
                "SchedulerParameters: mlq_mode=%.*s: active, dry-run or off is allowed, using active",
                width(value), value.data());
    }
  }

  void take_resize(std::string_view value) {
    if (same(value, "off")) {
      out_.resize = MLQ_RESIZING_OFF;
    } else if (same(value, "companion")) {
      out_.resize = MLQ_RESIZING_COMPANION;
    } else if (same(value, "requeue")) {
      out_.resize = MLQ_RESIZING_REQUEUE;
    } else if (same(value, "all")) {
      out_.resize = MLQ_RESIZING_ALL;
    } else {
      out_.resize = MLQ_RESIZING_COMPANION;
      log_.line(
          MLQ_LOG_ERROR,
          "SchedulerParameters: mlq_resize=%.*s: off, companion, requeue or all is allowed, using companion",
          width(value), value.data());
    }
  }

  void take_sizing(std::string_view value) {
    out_.sizing = !same(value, "off");
    if (out_.sizing && !same(value, "on"))
      log_.line(MLQ_LOG_ERROR, "SchedulerParameters: mlq_sizing=%.*s: on or off is allowed, using on",
                width(value), value.data());
  }

  void take_tail(std::string_view value) {
    double parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error == std::errc() && end == value.data() + value.size() && parsed >= 0 && parsed <= most_tail) {
      out_.tail = parsed;
      return;
    }
    out_.tail = default_tail;
    log_.line(MLQ_LOG_ERROR,
              "SchedulerParameters: mlq_tail=%.*s: a number from 0 to %.0f is allowed, using %g",
              width(value), value.data(), most_tail, default_tail);
  }

  /// Names between '+'. A list that can't be read allows nobody: a switch that fails must fail to off.
  template <std::size_t size>
  void take_names(std::string_view key, std::string_view value, char (&to)[size]) {
    if (!value.empty() && value.size() < size && printable(value)) return copy(to, value);
    copy(to, "+");
    log_.line(
        MLQ_LOG_ERROR,
        "SchedulerParameters: %.*s=%.*s: names with + between them, at most %zu bytes, are allowed; none is "
        "resized",
        width(key), key.data(), width(value), value.data(), size - 1);
  }

  void take_url(std::string_view value) {
    if (value.size() < sizeof out_.url && valid_url(value)) {
      copy(out_.url, value);
      return;
    }
    copy(out_.url, default_url);
    log_.line(MLQ_LOG_ERROR,
              "SchedulerParameters: mlq_url=%.*s: unix:/path (at most %zu bytes), http://host:port or "
              "https://host:port is allowed, using %s",
              width(value), value.data(), socket_path_max, default_url);
  }

  void take_key(std::string_view value) {
    if (value.size() > 1 && value.size() < sizeof out_.key_file && value.front() == '/' && printable(value)) {
      copy(out_.key_file, value);
      return;
    }
    out_.key_file[0] = '\0';
    log_.line(MLQ_LOG_ERROR,
              "SchedulerParameters: mlq_key=%.*s: the path of a file, from /, is allowed, using none",
              width(value), value.data());
  }

  mlq_config_t& out_;
  Log log_;
};

mlq_config_t defaults() {
  mlq_config_t config{};
  config.mode = MLQ_MODE_ACTIVE;
  for (const NumberKey& number : number_keys) config.*number.field = number.fallback;
  config.resize = MLQ_RESIZING_COMPANION;
  config.sizing = true;
  config.tail = default_tail;
  copy(config.url, default_url);
  return config;
}

}  // namespace
}  // namespace mlq::engine

extern "C" void mlq_config_parse(const char* scheduler_parameters, mlq_config_t* out, mlq_log_fn log) {
  using namespace mlq::engine;
  *out = defaults();
  const Log to(log);
  Parser parser(*out, to);
  std::string_view rest = scheduler_parameters == nullptr ? "" : scheduler_parameters;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    parser.token(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  if (std::strncmp(out->url, "unix:", 5) != 0 && out->key_file[0] == '\0') {
    to.line(MLQ_LOG_ERROR, "SchedulerParameters: mlq_url=%s needs mlq_key=/path of the key that mlqd uses",
            out->url);
  }
}
