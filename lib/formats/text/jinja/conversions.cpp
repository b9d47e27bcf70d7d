#include "formats/text/jinja/conversions.hpp"

#include "formats/text/jinja/text_operations.hpp"
#include "formats/text/jinja/walks.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <locale.h>
#include <utility>
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

void append_hexadecimal(auto& output, char32_t c, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) output += "0123456789abcdef"[c >> shift & 0xF];
}

void append_escaped(auto& output, char32_t c) {
  if (c < 0x100) {
    append_hexadecimal(output += "\\x", c, 2);
  } else if (c < 0x10000) {
    append_hexadecimal(output += "\\u", c, 4);
  } else {
    append_hexadecimal(output += "\\U", c, 8);
  }
}

/// Writes what repr() gives in Python.
class python_writer {
 public:
  explicit python_writer(renderer& run) : run_(run), out_(run) {}

  std::string written(const value& object) {
    put(object);
    return out_.take();
  }

 private:
  void put(const value& object) {
    run_.visit(1);
    if (auto* text = object.text()) return put(*text);
    if (auto* items = object.items()) return put(*items);
    if (auto* members = object.members()) return put(*members);
    if (auto* view = object.viewed()) return put(*view);
    out_ += object.is_undefined() ? "Undefined" : as_text(run_, object).bytes();
  }

  void put(const traced_text& text) {
    if (text.is_markup()) out_ += "Markup(";
    put_quoted(text.bytes());
    if (text.is_markup()) out_ += ')';
  }

  void put_quoted(std::string_view text) {
    run_.look_at(text.size());
    bool has_only_single = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
    const char quote = has_only_single ? '"' : '\'';
    out_ += quote;
    for (; !text.empty(); text.remove_prefix(first_character(text).length)) {
      put_character(first_character(text).code_point, text.substr(0, first_character(text).length), quote);
    }
    out_ += quote;
  }

  void put_character(char32_t c, std::string_view bytes, char quote) {
    if (c == '\\' || c == static_cast<char32_t>(quote)) {
      (out_ += '\\') += bytes;
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (c == '\r') {
      out_ += "\\r";
    } else if (c == '\t') {
      out_ += "\\t";
    } else if (is_printable(c)) {
      out_ += bytes;
    } else {
      append_escaped(out_, c);
    }
  }

  void put(const list& items) {
    out_ += items.is_tuple ? '(' : '[';
    for (std::size_t i = 0; i < items.items.size(); ++i) {
      if (i > 0) out_ += ", ";
      put(items.items[i]);
    }
    if (items.is_tuple && items.items.size() == 1) out_ += ',';
    out_ += items.is_tuple ? ')' : ']';
  }

  void put(const dictionary& members) {
    out_ += '{';
    bool is_first = true;
    for (const auto& [key, member] : members.items()) {
      if (!std::exchange(is_first, false)) out_ += ", ";
      put(key);
      out_ += ": ";
      put(member);
    }
    out_ += '}';
  }

  void put(const view& items) {
    if (items.type == view::kind::range) return put_range(items);
    out_ += items.type == view::kind::keys     ? "dict_keys("
            : items.type == view::kind::values ? "dict_values("
                                               : "dict_items(";
    put(*items.items);
    out_ += ')';
  }

  void put_range(const view& range) {
    out_ += "range(" + std::to_string(range.begin) + ", " + std::to_string(range.end);
    if (range.step != 1) out_ += ", " + std::to_string(range.step);
    out_ += ')';
  }

  renderer& run_;
  growing_text out_;
};

class json_writer {
 public:
  json_writer(renderer& run, const json_style& style) : run_(run), style_(style), out_(run) {}

  std::string written(const value& object) {
    put(object, 0);
    return out_.take();
  }

 private:
  void put(const value& object, std::size_t depth) {
    run_.visit(1);
    if (auto* text = object.text()) return put_string(text->bytes());
    if (auto* items = object.items()) return put_list(*items, depth);
    if (auto* members = object.members()) return put_dictionary(*members, depth);
    out_ += scalar(object);
  }

  std::string scalar(const value& object) const {
    if (object.is_none()) return "null";
    if (object.is<bool>()) return is_true(object) ? "true" : "false";
    if (auto integer = object.integer()) return std::to_string(*integer);
    auto number = object.number();
    if (!number) run_.fail(kind_of(object) + " cannot be written as JSON");
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
    run_.charge(members.size() * sizeof(dictionary::item*));
    for (const auto& item : members.items()) items.push_back(&item);
    if (!style_.sort_keys) return items;
    for (const auto* item : items) {
      if (!item->first.text()) run_.fail("only keys that are texts can be sorted");
    }
    std::sort(items.begin(), items.end(), [&](auto* a, auto* b) { return order(run_, a->first, b->first) < 0; });
    return items;
  }

  void begin_line(std::size_t depth) {
    if (!style_.indent) return;
    out_ += '\n';
    for (std::size_t i = 0; i < depth; ++i) out_ += *style_.indent;
  }

  void put_string(std::string_view text) {
    run_.look_at(text.size());
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
  growing_text out_;
};

}  // namespace

value from_json(renderer& run, const boost::json::value& source) {
  auto level = run.enter_here();
  switch (source.kind()) {
    case boost::json::kind::null:
      return none{};
    case boost::json::kind::bool_:
      return source.get_bool();
    case boost::json::kind::int64:
      return source.get_int64();
    case boost::json::kind::uint64:
      return static_cast<double>(source.get_uint64());
    case boost::json::kind::double_:
      return source.get_double();
    case boost::json::kind::string:
      return run.make_text(outside_text(source.get_string()));
    case boost::json::kind::array:
      break;
    case boost::json::kind::object: {
      dictionary members;
      for (const auto& [key, member] : source.get_object()) {
        insert(run, members, run.make_text(outside_text(key)), from_json(run, member));
      }
      return run.checked(std::move(members));
    }
  }
  std::vector<value> items;
  for (const auto& item : source.get_array()) items.push_back(from_json(run, item));
  return run.make_list(std::move(items));
}

// Not std::from_chars(), which libc++ lacks for real numbers, and which leaves open what is out of range.
std::optional<double> parsed_double(std::string_view spelling) {
  static const locale_t language = ::newlocale(LC_ALL_MASK, "C", nullptr);
  const auto is_other = [](char c) { return c == 'x' || c == 'X' || c == '(' || c == '\0'; };
  if (spelling.empty() || spelling[0] == '+' || std::isspace(static_cast<unsigned char>(spelling[0])) ||
      std::ranges::any_of(spelling, is_other))
    return std::nullopt;
  const std::string text(spelling);
  char* end = nullptr;
  const double number = ::strtod_l(text.c_str(), &end, language);
  return end == text.c_str() + text.size() ? std::optional(number) : std::nullopt;
}

std::string spelled(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  auto parts = shortest_decimal(std::abs(number));
  auto text = parts.exponent >= -4 && parts.exponent < 16 ? fixed(parts) : scientific(parts);
  return std::signbit(number) ? "-" + text : text;
}

std::string representation(renderer& run, const value& object) { return python_writer(run).written(object); }

std::string ascii_representation(renderer& run, const value& object) {
  auto text = representation(run, object);
  growing_text result(run);
  for (std::string_view rest = text; !rest.empty();) {
    auto character = first_character(rest);
    if (character.code_point < 0x80) {
      result += rest[0];
    } else {
      append_escaped(result, character.code_point);
    }
    rest.remove_prefix(character.length);
  }
  return result.take();
}

traced_text as_text(renderer& run, const value& object) {
  if (auto* text = object.text()) {
    run.look_at(text->footprint());
    return *text;
  }
  if (object.is_undefined()) return {};
  if (object.is_none()) return {"None", true};
  if (object.is<bool>()) return {is_true(object) ? "True" : "False", true};
  if (auto integer = object.integer()) return {std::to_string(*integer), true};
  if (auto number = object.number()) return {spelled(*number), true};
  if (object.items() || object.members() || object.viewed())
    return {representation(run, object), is_trusted(run, object)};
  run.fail(kind_of(object) + " cannot be written as text");
}

std::string as_json(renderer& run, const value& object, const json_style& style) {
  return json_writer(run, style).written(object);
}

}  // namespace cogen::text::jinja
