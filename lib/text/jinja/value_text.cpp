// What a value looks like when it is written: Python's str() and repr().
#include "text/jinja/conversions.hpp"
#include "text/utf8.hpp"

#include <utf8proc.h>

namespace cogen::text::jinja {
namespace {

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

void append_hexadecimal(std::string& to, char32_t c, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) to += "0123456789abcdef"[c >> shift & 0xF];
}

void append_escaped(std::string& to, char32_t c) {
  if (c < 0x100) {
    append_hexadecimal(to += "\\x", c, 2);
  } else if (c < 0x10000) {
    append_hexadecimal(to += "\\u", c, 4);
  } else {
    append_hexadecimal(to += "\\U", c, 8);
  }
}

std::string quoted(std::string_view text) {
  bool has_only_single = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  char quote = has_only_single ? '"' : '\'';
  std::string result(1, quote);
  while (!text.empty()) {
    auto character = first_character(text);
    auto c = character.code_point;
    if (c == '\\' || c == static_cast<char32_t>(quote)) {
      (result += '\\') += static_cast<char>(c);
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\t') {
      result += "\\t";
    } else if (is_printable(c)) {
      result += text.substr(0, character.length);
    } else {
      append_escaped(result, c);
    }
    text.remove_prefix(character.length);
  }
  return result += quote;
}

std::string representation_of(renderer& run, const list& items) {
  std::string text(1, items.is_tuple ? '(' : '[');
  for (std::size_t i = 0; i < items.items.size(); ++i) {
    if (i > 0) text += ", ";
    text += representation(run, items.items[i]);
  }
  if (items.is_tuple && items.items.size() == 1) text += ',';
  return text += items.is_tuple ? ')' : ']';
}

std::string representation_of(renderer& run, const dictionary& members) {
  std::string text = "{";
  for (const auto& [key, what] : members.items()) {
    if (text.size() > 1) text += ", ";
    text += representation(run, key) + ": " + representation(run, what);
  }
  return text += '}';
}

}  // namespace

std::string representation(renderer& run, const value& what) {
  if (auto* text = what.text()) {
    auto result = quoted(text->bytes());
    run.charge(result.size());
    return result;
  }
  if (auto* items = what.items()) return representation_of(run, *items);
  if (auto* members = what.members()) return representation_of(run, *members);
  if (what.is_undefined()) return "Undefined";
  return as_text(run, what).bytes();
}

traced_text as_text(renderer& run, const value& what) {
  if (auto* text = what.text()) return *text;
  if (what.is_undefined()) return {};
  if (what.is_none()) return {"None", true};
  if (what.is<bool>()) return {is_true(what) ? "True" : "False", true};
  if (auto integer = what.integer()) return {std::to_string(*integer), true};
  if (auto number = what.number()) return {spelled(*number), true};
  if (what.items() || what.members()) return {representation(run, what), is_trusted(what)};
  run.fail(kind_of(what) + " cannot be written as text");
}

}  // namespace cogen::text::jinja
