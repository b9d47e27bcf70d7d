#include "answers/response/delimiter_pattern.hpp"

#include "formats/json/printable.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

namespace cogen::response {
namespace {

constexpr std::size_t max_delimiters = 64;
constexpr int max_depth = 8;

using delimiters = std::vector<delimiter>;

class pattern_reader {
 public:
  explicit pattern_reader(std::string_view pattern) : pattern_(pattern), rest_(pattern) {}

  delimiters run() {
    auto all = alternatives();
    if (!rest_.empty()) refuse();
    std::ranges::transform(all, all.begin(), trimmed);
    if (std::ranges::any_of(all, [](const delimiter& each) { return each.empty(); })) refuse();
    return all;
  }

 private:
  [[noreturn]] void refuse() const {
    throw std::invalid_argument("response_template: the pattern " + json::in_quotes(pattern_) +
                                " is not supported at " + json::in_quotes(rest_));
  }

  bool take(std::string_view beginning) {
    if (!rest_.starts_with(beginning)) return false;
    rest_.remove_prefix(beginning.size());
    return true;
  }

  delimiters alternatives() {
    auto all = sequence();
    while (take("|")) std::ranges::move(sequence(), std::back_inserter(all));
    return all;
  }

  delimiters sequence() {
    delimiters all(1);
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      all = joined(all, take("(?:") ? group() : delimiters{element()});
      if (all.size() > max_delimiters) refuse();
    }
    return all;
  }

  delimiters group() {
    if (++depth_ > max_depth) refuse();
    auto all = alternatives();
    --depth_;
    if (!take(")")) refuse();
    return all;
  }

  delimiter element() {
    if (take("(?P<name>") || take("(?P<key>")) return {capture(delimiter_part::kind::name)};
    if (take("(?P<id>")) return {capture(delimiter_part::kind::id)};
    delimiter one;
    if (take("\\s*") || take("\\s+")) {
      one.push_back({delimiter_part::kind::space});
    } else if (take("\\n")) {
      append_text(one, "\n");
    } else {
      append_text(one, std::string(1, character()));
    }
    return one;
  }

  /// A character by itself: escaped where it would mean something else, and not repeated.
  char character() {
    const bool escaped = take("\\");
    if (rest_.empty()) refuse();
    const char byte = rest_.front();
    const auto special = std::string_view(".*+?()[]{}^$|").find(byte) != std::string_view::npos;
    if (escaped ? is_word_byte(byte) : special) refuse();
    rest_.remove_prefix(1);
    if (!rest_.empty() && std::string_view("*+?{").find(rest_.front()) != std::string_view::npos) refuse();
    return byte;
  }

  static bool is_word_byte(char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_';
  }

  /// `\w+`, or a class of characters, one or more times.
  delimiter_part capture(delimiter_part::kind kind) {
    if (take("[")) {
      const auto end = rest_.find(']', 2);
      if (end == std::string_view::npos) refuse();
      rest_.remove_prefix(end + 1);
    } else if (!take("\\w")) {
      refuse();
    }
    if (!take("+")) refuse();
    take("?");
    if (!take(")")) refuse();
    return {kind};
  }

  static delimiters joined(const delimiters& before, const delimiters& after) {
    delimiters all;
    for (const auto& left : before)
      for (const auto& right : after) {
        all.push_back(left);
        for (const auto& part : right) append(all.back(), part);
      }
    return all;
  }

  static void append(delimiter& parts, const delimiter_part& part) {
    if (part.type == delimiter_part::kind::text)
      append_text(parts, part.text);
    else
      parts.push_back(part);
  }

  std::string_view pattern_;
  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace

std::vector<delimiter> delimiters_of_pattern(std::string_view pattern) { return pattern_reader(pattern).run(); }

std::pair<delimiter, delimiter> delimiters_around_value(std::string_view pattern) {
  constexpr std::string_view value = "(?P<value>.*?)";
  const auto at = pattern.find(value);
  if (at == std::string_view::npos)
    throw std::invalid_argument("response_template: the pattern " + json::in_quotes(pattern) + " has no " +
                                std::string(value));
  const auto before = delimiters_of_pattern(pattern.substr(0, at));
  const auto after = delimiters_of_pattern(pattern.substr(at + value.size()));
  if (before.size() != 1 || after.size() != 1)
    throw std::invalid_argument("response_template: the pattern " + json::in_quotes(pattern) +
                                " has alternatives around its value, which is not supported");
  return {before.front(), after.front()};
}

}  // namespace cogen::response
