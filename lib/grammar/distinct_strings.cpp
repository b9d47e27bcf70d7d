#include "grammar/distinct_strings.hpp"

#include <boost/json/parse.hpp>

#include <optional>
#include <utility>

namespace cogen::grammar {
namespace {

std::string value_of(std::string_view quoted) {
  boost::json::error_code error;
  const auto value = boost::json::parse(quoted, error);
  return value.is_string() ? std::string(value.get_string()) : std::string(quoted);
}

/// How long the string is that a text begins with, its quotes included; none where it has no end.
std::optional<std::size_t> string_length(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return std::nullopt;
}

/// What is left of an array's text behind its whole strings, for each of which `visit(value)` is called; none where the
/// array ends.
template <typename Visit>
std::optional<std::string_view> read_strings(std::string_view text, const Visit& visit) {
  while (true) {
    const auto next = text.find_first_of("\"]");
    if (next == std::string_view::npos) return text;
    if (text[next] == ']') return std::nullopt;
    const auto length = string_length(text.substr(next));
    if (!length) return text;
    visit(value_of(text.substr(next, *length)));
    text.remove_prefix(next + *length);
  }
}

}  // namespace

distinct_strings::distinct_strings(std::string_view text) {
  const auto rest = read_strings(text, [&](std::string value) { values_.insert(std::move(value)); });
  is_open_ = rest.has_value();
  rest_ = rest.value_or("");
}

bool distinct_strings::would_repeat(std::string_view more) const {
  std::set<std::string> added;
  bool repeats = false;
  const auto all = rest_ + std::string(more);
  read_strings(all, [&](const std::string& value) {
    repeats = repeats || values_.contains(value) || !added.insert(value).second;
  });
  return repeats;
}

std::size_t last_array(std::string_view json) {
  auto found = std::string_view::npos;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '[') found = i;
    if (json[i] != '"') continue;
    const auto length = string_length(json.substr(i));
    if (!length) break;
    i += *length - 1;
  }
  return found;
}

}  // namespace cogen::grammar
