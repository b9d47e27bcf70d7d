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
    auto result = alternatives();
    if (!rest_.empty()) refuse();
    std::ranges::transform(result, result.begin(), trimmed);
    if (std::ranges::any_of(result, [](const delimiter& alternative) { return alternative.empty(); })) refuse();
    return result;
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
    auto result = sequence();
    while (take("|")) std::ranges::move(sequence(), std::back_inserter(result));
    return result;
  }

  delimiters sequence() {
    delimiters result(1);
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      result = joined(result, take("(?:") ? group() : delimiters{element()});
      if (result.size() > max_delimiters) refuse();
    }
    return result;
  }

  delimiters group() {
    if (++depth_ > max_depth) refuse();
    auto result = alternatives();
    --depth_;
    if (!take(")")) refuse();
    return result;
  }

  delimiter element() {
    if (take("(?P<name>") || take("(?P<key>")) return {capture(delimiter_part::kind::name)};
    if (take("(?P<id>")) return {capture(delimiter_part::kind::id)};
    delimiter result;
    if (take("\\s*") || take("\\s+")) {
      result.push_back({delimiter_part::kind::space});
    } else if (take("\\n")) {
      append_text(result, "\n");
    } else {
      append_text(result, std::string(1, character()));
    }
    return result;
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

  static delimiters joined(const delimiters& prefixes, const delimiters& suffixes) {
    delimiters result;
    for (const auto& left : prefixes)
      for (const auto& right : suffixes) {
        result.push_back(left);
        for (const auto& part : right) append(result.back(), part);
      }
    return result;
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
  const auto position = pattern.find(value);
  if (position == std::string_view::npos)
    throw std::invalid_argument("response_template: the pattern " + json::in_quotes(pattern) + " has no " +
                                std::string(value));
  const auto openings = delimiters_of_pattern(pattern.substr(0, position));
  const auto closings = delimiters_of_pattern(pattern.substr(position + value.size()));
  if (openings.size() != 1 || closings.size() != 1)
    throw std::invalid_argument("response_template: the pattern " + json::in_quotes(pattern) +
                                " has alternatives around its value, which is not supported");
  return {openings.front(), closings.front()};
}

}  // namespace cogen::response
