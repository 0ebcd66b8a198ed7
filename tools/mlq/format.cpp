// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace mlq::cli {
namespace {

template <typename... Values>
std::string print(const char* pattern, Values... values) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), pattern, values...);
  return buffer.data();
}

/// Bytes of the UTF-8 sequence at `at`, 0 when it is broken.
std::size_t sequence(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string significant(const Number& value, int digits) {
  if (!value) return "-";
  if (!std::isfinite(*value)) return std::isnan(*value) ? "nan" : *value > 0 ? "inf" : "-inf";
  const double size = std::fabs(*value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return print("%.*g", digits, *value);
  const int before = size >= 1 ? static_cast<int>(std::floor(std::log10(size))) + 1 : 1;
  if (before >= digits) return print("%.0f", *value);
  return print("%.*g", digits, *value);
}

std::string integer(const Number& value) {
  if (!value) return "-";
  if (*value != std::floor(*value)) return print("%.15g", *value);
  return std::fabs(*value) < 1e18 ? print("%.0f", *value) : print("%g", *value);
}

std::string percent(const Number& share) {
  return share ? print("%.1f%%", 100 * *share) : "-";
}

std::string duration(const Number& seconds) {
  if (!seconds || !std::isfinite(*seconds) || *seconds < 0 || *seconds > 1e12) return "-";
  const auto total = static_cast<long long>(*seconds);
  const long long days = total / 86400, hours = total / 3600 % 24, minutes = total / 60 % 60,
                  rest = total % 60;
  if (days) return print("%lld-%02lld:%02lld:%02lld", days, hours, minutes, rest);
  if (hours) return print("%lld:%02lld:%02lld", hours, minutes, rest);
  return print("%lld:%02lld", minutes, rest);
}

std::string timestamp(const Number& seconds) {
  if (!seconds || !(*seconds > 0) || *seconds > 1e12) return "-";
  const auto when = static_cast<std::time_t>(*seconds);
  std::tm parts{};
  std::array<char, 64> buffer;
  if (!localtime_r(&when, &parts) ||
      !std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%S", &parts))
    return "-";
  return buffer.data();
}

std::string printable(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    // U+0080 to U+009F are control characters too
    const bool control = byte < 0x20 || byte == 0x7f ||
                         (length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0);
    if (length == 0 || control)
      out += '?';
    else
      out.append(text, at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace mlq::cli
