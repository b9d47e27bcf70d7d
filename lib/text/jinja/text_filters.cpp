// Filters that make or change a text, and those that turn a text into a number.
#include "text/jinja/callables.hpp"
#include "text/jinja/conversions.hpp"
#include "text/jinja/text_operations.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace cogen::text::jinja {
namespace {

template <std::string (*Change)(std::string_view)>
value in_other_case(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "letter case", {});
  auto text = as_text(run, input);
  return run.make_text(Change(text.bytes()), text.is_trusted());
}

value trim(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "trim", {"chars"});
  return run.make_text(stripped(as_text(run, input), bound.optional_text(0)));
}

value to_text(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "string", {});
  return run.make_text(as_text(run, input));
}

value with_replaced(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "replace", {"old", "new", "count"});
  auto limit = bound.find(2) && bound.find(2)->is_none() ? -1 : bound.integer(2, -1);
  return replaced(run, as_text(run, input), as_text(run, bound.at(0)), as_text(run, bound.at(1)), limit);
}

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  text = text.substr(0, end_before_space(text));
  text.remove_prefix(begin_after_space(text));
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool is_whole_text = error == std::errc{} && end == text.data() + text.size();
  return is_whole_text ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> truncated(std::optional<double> number) {
  constexpr double limit = 9.2e18;
  if (!number || !(std::abs(*number) < limit)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

value to_integer(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "int", {"default"});
  std::optional<std::int64_t> result = input.integer();
  if (!result && input.number()) result = truncated(input.number());
  if (auto* text = input.text()) {
    result = parsed<std::int64_t>(text->bytes());
    if (!result) result = truncated(parsed<double>(text->bytes()));
  }
  if (result) return *result;
  return bound.find(0) ? bound.at(0) : value(std::int64_t{0});
}

value to_number(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "float", {"default"});
  auto result = input.text() ? parsed<double>(input.text()->bytes()) : input.number();
  if (result) return *result;
  return bound.find(0) ? bound.at(0) : value(0.0);
}

value absolute(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "abs", {});
  auto number = input.number();
  if (!number) run.fail("'abs' does not apply to " + kind_of(input));
  if (auto whole = input.integer()) return *whole < 0 && *whole > INT64_MIN ? -*whole : *whole;
  return std::abs(*number);
}

value round_number(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "round", {"precision", "method"});
  auto number = input.number();
  if (!number) run.fail("'round' does not apply to " + kind_of(input));
  auto precision = std::clamp<std::int64_t>(bound.integer(0, 0), -300, 300);
  auto method = bound.find(1) ? bound.text(1) : std::string_view("common");
  if (method == "common" && input.integer() && precision >= 0) return *input.integer();
  auto scale = std::pow(10.0, static_cast<double>(precision));
  if (method == "ceil") return std::ceil(*number * scale) / scale;
  if (method == "floor") return std::floor(*number * scale) / scale;
  if (method != "common") run.fail("'round' knows the methods common, ceil and floor");
  auto rounded = std::nearbyint(*number * scale) / scale;
  if (input.integer()) return static_cast<std::int64_t>(rounded);
  return rounded;
}

value to_json(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
  json_style style{.ensure_ascii = bound.flag(0, false), .sort_keys = bound.flag(3, false), .indent = {}};
  if (auto* indent = bound.find(1); indent && !indent->is_none()) {
    constexpr std::int64_t widest = 64;
    style.indent = indent->text() ? indent->text()->bytes()
                                  : std::string(std::clamp<std::int64_t>(bound.integer(1, 0), 0, widest), ' ');
    style.item_separator = ",";
  }
  if (auto* separators = bound.find(2); separators && !separators->is_none()) {
    auto* pair = separators->items();
    if (!pair || pair->items.size() != 2 || !pair->items[0].text() || !pair->items[1].text()) {
      run.fail("'separators' of 'tojson' must be two texts");
    }
    style.item_separator = pair->items[0].text()->bytes();
    style.key_separator = pair->items[1].text()->bytes();
  }
  return run.make_text(as_json(run, input, style), is_trusted(input));
}

value indent(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "indent", {"width", "first", "blank"});
  constexpr std::int64_t widest = 1000;
  auto width = bound.find(0) && bound.find(0)->text()
                   ? bound.find(0)->text()->bytes()
                   : std::string(std::clamp<std::int64_t>(bound.integer(0, 4), 0, widest), ' ');
  bool indents_blank = bound.flag(2, false);
  auto text = as_text(run, input);
  text.append("\n", true);
  auto lines = lines_of(run, text, false);
  traced_text result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& line = *lines[i].text();
    if (i > 0) result.append("\n", true);
    bool indents = i == 0 ? bound.flag(1, false) : indents_blank || !line.empty();
    run.charge(line.size() + width.size());
    if (indents) result.append(width, true);
    result.append(line);
  }
  return result;
}

value joined(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "join", {"d", "attribute"});
  auto separator = bound.find(0) ? as_text(run, bound.at(0)) : traced_text();
  auto items = items_of(run, input);
  traced_text result;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    auto what = bound.find(1) ? member_of(run, items->items[i], bound.at(1)) : items->items[i];
    auto text = as_text(run, what);
    run.charge(separator.size() + text.size());
    if (i > 0) result.append(separator);
    result.append(text);
  }
  return result;
}

value as_markup(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "safe", {});
  return run.make_text(as_text(run, input).as_markup());
}

constexpr std::array<std::pair<std::string_view, filter>, 15> text_filters{{
    {"abs", absolute},
    {"capitalize", in_other_case<capitalize>},
    {"float", to_number},
    {"indent", indent},
    {"int", to_integer},
    {"join", joined},
    {"lower", in_other_case<lower>},
    {"replace", with_replaced},
    {"round", round_number},
    {"safe", as_markup},
    {"string", to_text},
    {"title", in_other_case<title_words>},
    {"tojson", to_json},
    {"trim", trim},
    {"upper", in_other_case<upper>},
}};

}  // namespace

filter find_text_filter(std::string_view name) { return find_named<filter>(text_filters, name); }

}  // namespace cogen::text::jinja
