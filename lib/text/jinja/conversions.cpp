#include "text/jinja/conversions.hpp"

#include "text/jinja/text_operations.hpp"
#include "text/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace cogen::text::jinja {
namespace {

traced_text outside_text(std::string_view text) { return {repaired_utf8(text), false}; }

struct decimal {
  std::string digits;
  int exponent;  // of the first digit
};

decimal shortest_decimal(double number) {
  std::array<char, 40> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::scientific).ptr;
  std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  auto e = text.find('e');
  decimal result{std::string(1, text[0]), 0};
  if (e > 2) result.digits += text.substr(2, e - 2);
  auto exponent = text.substr(text[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.exponent);
  return result;
}

std::string fixed(const decimal& number) {
  auto digits = static_cast<int>(number.digits.size());
  if (number.exponent < 0)
    return "0." + std::string(static_cast<std::size_t>(-number.exponent - 1), '0') + number.digits;
  auto whole = static_cast<std::size_t>(number.exponent) + 1;
  if (digits <= number.exponent + 1) return number.digits + std::string(whole - number.digits.size(), '0') + ".0";
  return number.digits.substr(0, whole) + "." + number.digits.substr(whole);
}

std::string scientific(const decimal& number) {
  auto mantissa = number.digits.substr(0, 1);
  if (number.digits.size() > 1) mantissa += "." + number.digits.substr(1);
  auto exponent = std::to_string(std::abs(number.exponent));
  if (exponent.size() < 2) exponent.insert(0, 1, '0');
  return mantissa + (number.exponent < 0 ? "e-" : "e+") + exponent;
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

std::string representation_of(renderer& run, const view& items) {
  switch (items.type) {
    case view::kind::keys:
      return "dict_keys(" + representation_of(run, *items.items) + ")";
    case view::kind::values:
      return "dict_values(" + representation_of(run, *items.items) + ")";
    case view::kind::items:
      return "dict_items(" + representation_of(run, *items.items) + ")";
    case view::kind::range:
      break;
  }
  auto bounds = "range(" + std::to_string(items.begin) + ", " + std::to_string(items.end);
  return bounds + (items.step == 1 ? "" : ", " + std::to_string(items.step)) + ")";
}

class json_writer {
 public:
  json_writer(renderer& run, const json_style& style) : run_(run), style_(style) {}

  std::string run(const value& what) {
    put(what, 0);
    return std::move(out_);
  }

 private:
  void put(const value& what, std::size_t depth) {
    run_.charge(8);
    if (auto* text = what.text()) return put_string(text->bytes());
    if (auto* items = what.items()) return put_list(*items, depth);
    if (auto* members = what.members()) return put_dictionary(*members, depth);
    out_ += scalar(what);
  }

  std::string scalar(const value& what) const {
    if (what.is_none()) return "null";
    if (what.is<bool>()) return is_true(what) ? "true" : "false";
    if (auto integer = what.integer()) return std::to_string(*integer);
    auto number = what.number();
    if (!number) run_.fail(kind_of(what) + " cannot be written as JSON");
    if (std::isnan(*number)) return "NaN";
    if (std::isinf(*number)) return *number < 0 ? "-Infinity" : "Infinity";
    return spelled(*number);
  }

  void put_list(const list& items, std::size_t depth) {
    if (items.items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    for (std::size_t i = 0; i < items.items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      begin_line(depth + 1);
      put(items.items[i], depth + 1);
    }
    begin_line(depth);
    out_ += ']';
  }

  void put_dictionary(const dictionary& members, std::size_t depth) {
    if (members.size() == 0) {
      out_ += "{}";
      return;
    }
    out_ += '{';
    bool is_first = true;
    for (const auto* item : in_order(members)) {
      if (!is_first) out_ += style_.item_separator;
      is_first = false;
      begin_line(depth + 1);
      put_string(item->first.text() ? item->first.text()->bytes() : scalar(item->first));
      out_ += style_.key_separator;
      put(item->second, depth + 1);
    }
    begin_line(depth);
    out_ += '}';
  }

  std::vector<const dictionary::item*> in_order(const dictionary& members) const {
    std::vector<const dictionary::item*> items;
    for (const auto& item : members.items()) items.push_back(&item);
    if (!style_.sort_keys) return items;
    for (const auto* item : items) {
      if (!item->first.text()) run_.fail("only keys that are texts can be sorted");
    }
    std::sort(items.begin(), items.end(),
              [](auto* a, auto* b) { return a->first.text()->bytes() < b->first.text()->bytes(); });
    return items;
  }

  void begin_line(std::size_t depth) {
    if (!style_.indent) return;
    out_ += '\n';
    run_.charge(depth * style_.indent->size());
    for (std::size_t i = 0; i < depth; ++i) out_ += *style_.indent;
  }

  void put_string(std::string_view text) {
    run_.charge(text.size());
    out_ += '"';
    while (!text.empty()) {
      auto character = first_character(text);
      put_character(character.code_point, text.substr(0, character.length));
      text.remove_prefix(character.length);
    }
    out_ += '"';
  }

  void put_character(char32_t c, std::string_view bytes) {
    switch (c) {
      case '"':
        out_ += "\\\"";
        return;
      case '\\':
        out_ += "\\\\";
        return;
      case '\n':
        out_ += "\\n";
        return;
      case '\r':
        out_ += "\\r";
        return;
      case '\t':
        out_ += "\\t";
        return;
      case '\b':
        out_ += "\\b";
        return;
      case '\f':
        out_ += "\\f";
        return;
      default:
        break;
    }
    if (c >= 0x20 && (!style_.ensure_ascii || c < 0x7F)) {
      out_ += bytes;
    } else if (c < 0x20 || style_.ensure_ascii) {
      put_escape(c);
    }
  }

  void put_escape(char32_t c) {
    if (c >= 0x10000) {
      put_unit(0xD800 + ((c - 0x10000) >> 10));
      put_unit(0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
      put_unit(c);
    }
  }

  void put_unit(char32_t unit) { append_hexadecimal(out_ += "\\u", unit, 4); }

  renderer& run_;
  const json_style& style_;
  std::string out_;
};

}  // namespace

value from_json(renderer& run, const boost::json::value& what) {
  auto level = run.enter_here();
  switch (what.kind()) {
    case boost::json::kind::null:
      return none{};
    case boost::json::kind::bool_:
      return what.get_bool();
    case boost::json::kind::int64:
      return what.get_int64();
    case boost::json::kind::uint64:
      return static_cast<double>(what.get_uint64());
    case boost::json::kind::double_:
      return what.get_double();
    case boost::json::kind::string:
      return run.make_text(outside_text(what.get_string()));
    case boost::json::kind::array:
      break;
    case boost::json::kind::object: {
      dictionary members;
      for (const auto& [key, member] : what.get_object()) {
        members.insert(run.make_text(outside_text(key)), from_json(run, member));
      }
      return run.checked(std::move(members));
    }
  }
  std::vector<value> items;
  for (const auto& item : what.get_array()) items.push_back(from_json(run, item));
  return run.make_list(std::move(items));
}

std::string spelled(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  auto parts = shortest_decimal(std::abs(number));
  auto text = parts.exponent >= -4 && parts.exponent < 16 ? fixed(parts) : scientific(parts);
  return std::signbit(number) ? "-" + text : text;
}

std::string representation(renderer& run, const value& what) {
  if (auto* text = what.text()) {
    auto result = text->is_markup() ? "Markup(" + quoted(text->bytes()) + ")" : quoted(text->bytes());
    run.charge(result.size());
    return result;
  }
  run.charge(nodes_of(what));
  if (auto* items = what.items()) return representation_of(run, *items);
  if (auto* members = what.members()) return representation_of(run, *members);
  if (what.is_undefined()) return "Undefined";
  return as_text(run, what).bytes();
}

std::string ascii_representation(renderer& run, const value& what) {
  auto text = representation(run, what);
  std::string result;
  for (std::string_view rest = text; !rest.empty();) {
    auto character = first_character(rest);
    if (character.code_point < 0x80) {
      result += rest[0];
    } else {
      append_escaped(result, character.code_point);
    }
    rest.remove_prefix(character.length);
  }
  run.charge(result.size());
  return result;
}

traced_text as_text(renderer& run, const value& what) {
  if (auto* text = what.text()) return *text;
  if (what.is_undefined()) return {};
  if (what.is_none()) return {"None", true};
  if (what.is<bool>()) return {is_true(what) ? "True" : "False", true};
  if (auto integer = what.integer()) return {std::to_string(*integer), true};
  if (auto number = what.number()) return {spelled(*number), true};
  if (what.items() || what.members()) return {representation(run, what), is_trusted(what)};
  run.charge(nodes_of(what));
  if (auto* view = what.viewed()) return {representation_of(run, *view), is_trusted(what)};
  run.fail(kind_of(what) + " cannot be written as text");
}

std::string as_json(renderer& run, const value& what, const json_style& style) {
  return json_writer(run, style).run(what);
}

}  // namespace cogen::text::jinja
