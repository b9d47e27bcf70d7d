#include "answers/grammar/ebnf.hpp"

#include "answers/grammar/steps.hpp"
#include "formats/text/utf8.hpp"

#include <cstdio>
#include <utility>

namespace cogen::grammar {
namespace {

bool is_plain(char32_t character) {
  return (character >= '0' && character <= '9') || (character >= 'A' && character <= 'Z') ||
         (character >= 'a' && character <= 'z') || character == ' ' || character == '_';
}

std::string hexadecimal(const char* format, char32_t character) {
  char spelled[16];
  std::snprintf(spelled, sizeof spelled, format, static_cast<unsigned>(character));
  return spelled;
}

std::string code_point(char32_t character) {
  if (is_plain(character)) return std::string(1, static_cast<char>(character));
  return hexadecimal(character > 0xFFFF ? "\\U%08X" : "\\u%04X", character);
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string result;
  for (const auto& part : parts) {
    if (!result.empty()) result += between;
    result += part;
  }
  return result;
}

std::string bounds_of(repetition times) {
  if (times == repetition{0, repetition::unlimited}) return "*";
  if (times == repetition{1, repetition::unlimited}) return "+";
  if (times == repetition{0, 1}) return "?";
  const auto min = std::to_string(times.min);
  if (times.min == times.max) return "{" + min + "}";
  return "{" + min + "," + (times.max == repetition::unlimited ? "" : std::to_string(times.max)) + "}";
}

}  // namespace

std::string literal(std::string_view utf8) {
  std::string spelled = "\"";
  count_steps(utf8.size());
  while (!utf8.empty()) {
    const auto next = text::first_character(utf8);
    spelled += code_point(next.code_point);
    utf8.remove_prefix(next.length);
  }
  return spelled + "\"";
}

std::string sequence(const std::vector<std::string>& parts) { return parts.empty() ? literal("") : joined(parts, " "); }

std::string alternatives(const std::vector<std::string>& parts) {
  if (parts.size() == 1) return parts.front();
  return "(" + joined(parts, " | ") + ")";
}

std::string repeated(const std::string& part, repetition times) {
  if (times == repetition{1, 1}) return part;
  return times.max == 0 ? literal("") : "(" + part + ")" + bounds_of(times);
}

std::string json_spelling(char32_t character) {
  switch (character) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (character < 0x20) return hexadecimal("\\u%04x", character);
  std::string spelled;
  text::append_utf8(spelled, character);
  return spelled;
}

std::string json_spelling(std::string_view utf8) {
  std::string spelled = "\"";
  while (!utf8.empty()) {
    const auto next = text::first_character(utf8);
    spelled += json_spelling(next.code_point);
    utf8.remove_prefix(next.length);
  }
  return spelled + "\"";
}

std::string rule_list::new_name(std::string_view beginning) {
  return std::string(beginning) + std::to_string(names_++);
}

void rule_list::add(std::string_view name, std::string_view expression) {
  count_steps(expression.size());
  text_ += name;
  text_ += " ::= ";
  text_ += expression;
  text_ += '\n';
}

std::string rule_list::add_bracket(char bracket, distinct_rule inside) {
  auto name = std::string(bracket_capture) + std::to_string(distinct_.size());
  distinct_.push_back(std::move(inside));
  add(name + "[capture=\"" + name + "\"]", literal({&bracket, 1}));
  return name;
}

}  // namespace cogen::grammar
