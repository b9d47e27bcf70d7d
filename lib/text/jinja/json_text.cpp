// What a value looks like as JSON, in the spelling of Python's json.dumps().
#include "text/jinja/conversions.hpp"
#include "text/utf8.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cogen::text::jinja {
namespace {

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

  void put_unit(char32_t unit) {
    out_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out_ += "0123456789abcdef"[unit >> shift & 0xF];
  }

  renderer& run_;
  const json_style& style_;
  std::string out_;
};

}  // namespace

std::string as_json(renderer& run, const value& what, const json_style& style) {
  return json_writer(run, style).run(what);
}

}  // namespace cogen::text::jinja
