#include "json_texts.hpp"

#include <boost/json/serialize.hpp>

#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

namespace {

namespace json = boost::json;

std::string number_text(double number) {
  char text[64];
  std::string shortest(text, std::to_chars(text, text + sizeof text, number).ptr);
  return shortest.find_first_of(".e") == std::string::npos ? shortest + ".0" : shortest;
}

/// Between tokens, in turn: some of the white space that JSON knows.
std::string_view space(std::size_t depth) {
  constexpr std::string_view spaces[] = {" ", "\n  ", "\t", " \r\n "};
  return spaces[depth % 4];
}

void append(std::string& text, const json::value& value, bool with_spaces, std::size_t depth) {
  const auto gap = with_spaces ? space(depth) : "";
  if (const auto* number = value.if_double()) {
    text += number_text(*number);
  } else if (const auto* items = value.if_array()) {
    text += "[";
    for (bool first = true; const auto& each : *items) {
      if (!std::exchange(first, false)) text += ",";
      text += gap;
      append(text, each, with_spaces, depth + 1);
    }
    text.append(gap).append("]");
  } else if (const auto* members = value.if_object()) {
    text += "{";
    for (bool first = true; const auto& each : *members) {
      if (!std::exchange(first, false)) text += with_spaces ? " ," : ",";
      text.append(gap).append(json::serialize(each.key())).append(with_spaces ? " : " : ":");
      append(text, each.value(), with_spaces, depth + 1);
    }
    text.append(gap).append("}");
  } else {
    text += json::serialize(value);
  }
}

}  // namespace

std::string json_text(const json::value& value, bool with_spaces) {
  std::string text;
  append(text, value, with_spaces, 0);
  return text;
}
