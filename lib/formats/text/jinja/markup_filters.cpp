// Filters for HTML and addresses, and the one that a prompt cannot have.
#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/text_operations.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace cogen::text::jinja {
namespace {

traced_text escaped_unless_markup(renderer& run, const value& object) {
  auto text = as_text(run, object);
  return text.is_markup() ? text : escaped(run, text).as_markup();
}

value escape(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "escape", {});
  return run.make_text(escaped_unless_markup(run, input));
}

value escape_again(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "forceescape", {});
  return run.make_text(escaped(run, as_text(run, input)).as_markup());
}

value as_markup(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "safe", {});
  return run.make_text(as_text(run, input).as_markup());
}

value attributes(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "xmlattr", {"autospace"});
  auto* members = input.members();
  if (!members) run.fail("'xmlattr' needs a dictionary, not " + kind_of(input));
  traced_text result;
  for (const auto& [key, member] : members->items()) {
    run.visit(1);
    if (member.is_none() || member.is_undefined()) continue;
    auto* name = key.text();
    if (!name || name->bytes().find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      run.fail("'xmlattr' needs names of attributes, not " + representation(run, key));
    }
    if (!result.empty() || bound.flag(0, true)) result.append(" ", true);
    result.append(escaped_unless_markup(run, key));
    result.append("=\"", true);
    result.append(escaped_unless_markup(run, member));
    result.append("\"", true);
  }
  return run.make_text(std::move(result));
}

traced_text in_address(renderer& run, const value& object, bool is_in_query) {
  constexpr std::string_view plain = "_.-~";
  auto text = as_text(run, object);
  run.charge(3 * text.size());
  std::string result;
  for (char c : text.bytes()) {
    auto byte = static_cast<unsigned char>(c);
    bool is_plain = byte < 0x80 && (std::isalnum(byte) != 0 || plain.find(c) != std::string_view::npos);
    if (is_plain || (c == '/' && !is_in_query)) {
      result += c;
    } else if (c == ' ' && is_in_query) {
      result += '+';
    } else {
      ((result += '%') += "0123456789ABCDEF"[byte >> 4]) += "0123456789ABCDEF"[byte & 0xF];
    }
  }
  return {result, text.is_trusted()};
}

value address(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "urlencode", {});
  bool has_items = input.items() || input.members() || input.viewed() || input.generated() || input.is_undefined();
  if (!has_items) return run.make_text(in_address(run, input, false));
  auto items = visited_items(run, input.members() ? call_method(run, input, "items", {}) : input);
  traced_text result;
  for (const auto& item : items->items) {
    auto pair = items_of(run, item);
    if (pair->items.size() != 2) run.fail("'urlencode' needs pairs of names and values");
    if (!result.empty()) result.append("&", true);
    result.append(in_address(run, pair->items[0], true));
    result.append("=", true);
    result.append(in_address(run, pair->items[1], true));
  }
  return run.make_text(std::move(result));
}

value refuse_random(renderer& run, const value&, const arguments&) {
  run.fail("the filter 'random' has no result that a prompt can rely on");
}

constexpr std::array<std::pair<std::string_view, filter>, 7> markup_filters{{
    {"e", reading<escape>},
    {"escape", reading<escape>},
    {"forceescape", reading<escape_again>},
    {"random", refuse_random},
    {"safe", reading<as_markup>},
    {"urlencode", reading<address>},
    {"xmlattr", reading<attributes>},
}};

}  // namespace

filter find_markup_filter(std::string_view name) { return find_named<filter>(markup_filters, name); }

}  // namespace cogen::text::jinja
