#include "answers/grammar/json_equality.hpp"

#include "answers/grammar/ebnf.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace cogen::grammar {
namespace {

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

std::string_view digits_from(std::string_view text) {
  return text.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin()));
}

/// Its digits from the first to the last that is not a zero, and the power of ten of the last one.
std::string canonical_number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  std::string digits(digits_from(text));
  text.remove_prefix(digits.size());
  std::int64_t power = 0;
  if (text.starts_with('.')) {
    const auto fraction = digits_from(text.substr(1));
    digits += fraction;
    power -= static_cast<std::int64_t>(fraction.size());
    text.remove_prefix(1 + fraction.size());
  }
  if (!text.empty()) {  // an exponent that is out of range is as good as any
    text.remove_prefix(text.starts_with("e+") || text.starts_with("E+") ? 2 : 1);
    std::int64_t exponent = 0;
    std::from_chars(text.data(), text.data() + text.size(), exponent);
    power += std::clamp<std::int64_t>(exponent, -1'000'000'000'000, 1'000'000'000'000);
  }
  digits.erase(0, digits.find_first_not_of('0'));
  while (digits.ends_with('0')) {
    digits.pop_back();
    ++power;
  }
  if (digits.empty()) return "0";
  return (is_negative ? "-" : "") + digits + "e" + std::to_string(power);
}

/// How long the string is that a text begins with, its quotes included.
std::size_t string_length(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return text.size();
}

std::string canonical_string(std::string_view quoted) {
  boost::json::error_code error;
  const auto value = boost::json::parse(quoted, error);
  return value.is_string() ? json_spelling(std::string_view(value.get_string())) : std::string(quoted);
}

/// Of an escape by number.
bool is_high_surrogate(std::string_view escape) {
  const auto third = escape.size() > 3 ? escape[3] | 0x20 : 0;
  return escape.size() > 2 && (escape[2] | 0x20) == 'd' &&
         (third == '8' || third == '9' || third == 'a' || third == 'b');
}

/// An array or an object of which a beginning was read.
struct open_value {
  bool is_object;
  std::string items = {};
  std::map<std::string, std::string> members = {};
  std::optional<std::string> key = {};

  void add(std::string value) {
    if (!is_object) {
      items += value + ",";
    } else if (!key) {
      key = std::move(value);
    } else {
      members[*std::exchange(key, std::nullopt)] = std::move(value);
    }
  }

  std::string text() const {
    if (!is_object) return "[" + items + "]";
    std::string result = "{";
    for (const auto& [name, value] : members) result += name + ":" + value + ",";
    return result + "}";
  }
};

}  // namespace

bool is_json_space(char byte) noexcept { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

void json_speller::read(char byte, std::string& spelled) {
  if (in_string_) return read_in_string(byte, spelled);
  const bool goes_on = number_ != number_part::none && (byte == 'e' || byte == 'E' || byte == '+');
  if (is_digit(byte) || byte == '.' || byte == '-' || goes_on) return read_in_number(byte, spelled);
  number_ = number_part::none;
  waiting_.clear();
  if (is_json_space(byte)) return;
  in_string_ = byte == '"';
  spelled += byte;
}

void json_speller::read_in_number(char byte, std::string& spelled) {
  if (byte == '+') return;
  if (number_ == number_part::none) number_ = number_part::whole;
  if (byte == '.') number_ = number_part::fraction;
  if (byte == 'e' || byte == 'E') {
    number_ = number_part::exponent;
    waiting_.clear();
  }
  const bool is_sign = byte == '-' && number_ == number_part::whole;
  if (is_sign || byte == '.' || (byte == '0' && number_ == number_part::fraction)) {
    waiting_ += byte;
    return;
  }
  if (byte != '0' || waiting_ != "-") spelled += waiting_;
  waiting_.clear();
  spelled += byte == 'E' ? 'e' : byte;
}

void json_speller::read_in_string(char byte, std::string& spelled) {
  const bool in_escape = !waiting_.empty();
  if (!in_escape && byte != '\\') {
    in_string_ = byte != '"';
    spelled += byte;
    return;
  }
  waiting_ += byte;
  const std::size_t length = !in_escape || waiting_[1] != 'u' ? 2 : is_high_surrogate(waiting_) ? 12 : 6;
  if (waiting_.size() < length) return;
  const auto quoted = canonical_string('"' + std::exchange(waiting_, {}) + '"');
  spelled += std::string_view(quoted).substr(1, quoted.size() - 2);
}

std::string canonical_json(std::string_view json) {
  std::vector<open_value> open;
  std::string whole;
  const auto add = [&](std::string value) {
    open.empty() ? void(whole = std::move(value)) : open.back().add(std::move(value));
  };
  while (!json.empty()) {
    const auto first = json.front();
    std::size_t length = 1;
    if (first == '[' || first == '{') {
      open.push_back({.is_object = first == '{'});
    } else if (first == ']' || first == '}') {
      auto text = open.back().text();
      open.pop_back();
      add(std::move(text));
    } else if (first == '"') {
      length = string_length(json);
      add(canonical_string(json.substr(0, length)));
    } else if (!is_json_space(first) && first != ',' && first != ':') {
      length = std::min(json.size(), json.find_first_of(" \t\r\n,:]}"));
      const auto word = json.substr(0, length);
      add(is_digit(first) || first == '-' ? canonical_number(word) : std::string(word));
    }
    json.remove_prefix(length);
  }
  return whole;
}

}  // namespace cogen::grammar
