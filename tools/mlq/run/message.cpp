// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/message.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/wire/wire.hpp"

namespace mlq::run {
namespace {

constexpr std::array<const char*, 17> kKinds{
    "hello", "challenge", "join",  "welcome", "start",  "reform",  "signal", "stop",   "leave",
    "ping",  "attached",  "ready", "formed",  "exited", "stopped", "output", "leaving"};
constexpr std::int64_t kIntegerMax = std::int64_t{1} << 53;
constexpr double kSecondsMax = 1e7;

struct IntegerField {
  const char* name;
  std::int64_t Message::*member;
  std::int64_t high;  ///< the least is 0
};
constexpr std::array<IntegerField, 13> kIntegers{{{"generation", &Message::generation, kIntegerMax},
                                                  {"rank", &Message::rank, kRanksMax},
                                                  {"ranks", &Message::ranks, kRanksMax},
                                                  {"world", &Message::world, kRanksMax},
                                                  {"port", &Message::port, 65535},
                                                  {"units", &Message::units, 1000000},
                                                  {"cores", &Message::cores, 1 << 30},
                                                  {"gpus", &Message::gpus, 65535},
                                                  {"local_rank", &Message::local_rank, kRanksMax},
                                                  {"number", &Message::number, 64},
                                                  {"status", &Message::status, 255},
                                                  {"ticket", &Message::ticket, kIntegerMax},
                                                  {"job", &Message::job, 0xffffffff}}};

struct TextField {
  const char* name;
  std::string Message::*member;
  std::size_t most;  ///< bytes
};
constexpr std::array<TextField, 6> kTexts{{{"nonce", &Message::nonce, 128},
                                           {"proof", &Message::proof, 1024},
                                           {"address", &Message::address, 256},
                                           {"host", &Message::host, 256},
                                           {"directory", &Message::directory, 4096},
                                           {"text", &Message::text, kLineMax}}};

bool text_free_of_nul(const json_t* value) {
  return json_is_string(value) &&
         std::char_traits<char>::length(json_string_value(value)) == json_string_length(value);
}

std::string take(const json_t* value) {
  return {json_string_value(value), json_string_length(value)};
}

bool read_integers(const json_t* object, Message& message, std::string& error) {
  for (const IntegerField& field : kIntegers) {
    if (!json_object_get(object, field.name)) continue;
    const auto value = wire::get_integer(object, field.name, 0, field.high, "message", error);
    if (!value) return false;
    message.*field.member = *value;
  }
  return true;
}

bool read_texts(const json_t* object, Message& message, std::string& error) {
  for (const TextField& field : kTexts) {
    const json_t* value = json_object_get(object, field.name);
    if (!value) continue;
    const bool bytes = field.member == &Message::text;
    if (!json_is_string(value) || json_string_length(value) > field.most ||
        (!bytes && !text_free_of_nul(value))) {
      error = std::string("message.") + field.name + " is " + wire::describe(value) +
              "; a string of at most " + std::to_string(field.most) + " bytes is allowed";
      return false;
    }
    message.*field.member = take(value);
  }
  return true;
}

bool read_others(json_t* object, Message& message, std::string& error) {
  if (const json_t* value = json_object_get(object, "seconds")) {
    message.seconds = json_is_number(value) ? json_number_value(value) : -1;
    if (!(message.seconds >= 0 && message.seconds <= kSecondsMax)) {
      error = "message.seconds is " + wire::describe(value) + "; 0 to 10000000 is allowed";
      return false;
    }
  }
  if (const json_t* value = json_object_get(object, "flag")) {
    if (!json_is_boolean(value)) {
      error = "message.flag is " + wire::describe(value) + "; true or false is allowed";
      return false;
    }
    message.flag = json_is_true(value);
  }
  return true;
}

bool read_lists(json_t* object, Message& message, std::string& error) {
  std::size_t index = 0;
  const char* name = nullptr;
  json_t* value = nullptr;
  json_t* words = json_object_get(object, "command");
  json_t* variables = json_object_get(object, "environment");
  bool good = (!words || json_is_array(words)) && (!variables || json_is_object(variables));
  json_array_foreach(words, index, value) {
    good = good && text_free_of_nul(value);
    if (good) message.command.push_back(bytes_of_text(take(value)));
  }
  json_object_foreach(variables, name, value) {
    good = good && text_free_of_nul(value) && *name &&
           std::string_view(name).find('=') == std::string_view::npos;
    if (good) message.environment[bytes_of_text(name)] = bytes_of_text(take(value));
  }
  if (!good) error = "message: command is a list of strings, environment an object of strings";
  return good;
}

void write_lists(json_t* object, const Message& message) {
  if (!message.command.empty()) {
    json_t* list = json_array();
    for (const std::string& word : message.command)
      json_array_append_new(list, json_string(text_of_bytes(word).c_str()));
    json_object_set_new(object, "command", list);
  }
  if (!message.environment.empty()) {
    json_t* variables = json_object();
    for (const auto& [name, value] : message.environment)
      json_object_set_new(variables, text_of_bytes(name).c_str(), json_string(text_of_bytes(value).c_str()));
    json_object_set_new(object, "environment", variables);
  }
}

}  // namespace

std::optional<Message> parse_message(std::string_view line, std::string& error) {
  error.clear();
  const wire::Json object = wire::parse_object(line, error);
  if (!object) return std::nullopt;
  const json_t* kind = json_object_get(object.get(), "kind");
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(), [&](const char* name) {
    return json_is_string(kind) && std::string_view(name) == json_string_value(kind);
  });
  if (found == kKinds.end()) {
    error = "message.kind is " + (kind ? wire::describe(kind) : std::string("missing")) +
            "; a known one is needed";
    return std::nullopt;
  }
  Message message;
  message.kind = static_cast<Kind>(found - kKinds.begin());
  if (!read_integers(object.get(), message, error) || !read_texts(object.get(), message, error) ||
      !read_others(object.get(), message, error) || !read_lists(object.get(), message, error))
    return std::nullopt;
  return message;
}

std::string to_line(const Message& message) {
  const wire::Json object(json_object());
  json_object_set_new(object.get(), "kind", json_string(kKinds[static_cast<std::size_t>(message.kind)]));
  for (const IntegerField& field : kIntegers)
    if (message.*field.member != 0)
      json_object_set_new(object.get(), field.name, json_integer(message.*field.member));
  for (const TextField& field : kTexts) {
    const std::string& text = message.*field.member;
    if (!text.empty()) json_object_set_new(object.get(), field.name, json_stringn(text.data(), text.size()));
  }
  if (message.seconds != 0) json_object_set_new(object.get(), "seconds", json_real(message.seconds));
  if (message.flag) json_object_set_new(object.get(), "flag", json_true());
  write_lists(object.get(), message);
  return wire::to_text(object.get()) + "\n";
}

std::string text_of_bytes(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) {
      text += "\xc4\x80";  // JSON's reader takes no U+0000: U+0100 stands for it
    } else if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0 | (byte >> 6));
      text += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return text;
}

std::string bytes_of_text(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      bytes += text[i];
    } else if ((lead == 0xc2 || lead == 0xc3) && i + 1 < text.size()) {
      bytes += static_cast<char>(((lead & 3) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3f));
    } else if (lead == 0xc4 && i + 1 < text.size() && text[i + 1] == '\x80') {
      bytes += '\0';
      ++i;
    } else if ((lead & 0xc0) == 0xc0) {
      bytes += '?';
    }
  }
  return bytes;
}

bool cut_messages(std::string& buffer, std::size_t most, std::vector<std::string>& lines) {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (end - begin > most) return false;
    lines.push_back(buffer.substr(begin, end - begin));
  }
  buffer.erase(0, begin);
  return buffer.size() <= most;
}

}  // namespace mlq::run
