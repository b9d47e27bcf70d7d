// Filters that make or change a text, and those that turn a text into a number.
#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/format_spec.hpp"
#include "formats/text/jinja/text_operations.hpp"
#include "formats/text/jinja/walks.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

namespace cogen::text::jinja {
namespace {

template <std::string (*Change)(std::string_view), bool KeepsMarkup = true>
value in_other_case(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "letter case", {});
  auto text = as_text(run, input);
  run.charge(2 * text.size());
  traced_text changed(Change(text.bytes()), text.is_trusted());
  return run.make_text(text.is_markup() && KeepsMarkup ? changed.as_markup() : std::move(changed));
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

/// Without white space around it, and without underscores between digits; nothing where those stand elsewhere.
std::optional<std::string> digits_in(std::string_view text) {
  text = text.substr(0, end_before_space(text));
  text.remove_prefix(begin_after_space(text));
  std::string digits;
  auto is_alnum = [&](std::size_t index) {
    return index < text.size() && std::isalnum(static_cast<unsigned char>(text[index]));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
    } else if (i == 0 || !is_alnum(i - 1) || !is_alnum(i + 1)) {
      return std::nullopt;
    }
  }
  return digits;
}

std::optional<double> parsed_real(std::string_view text) {
  auto digits = digits_in(text);
  if (!digits) return std::nullopt;
  std::string_view rest = *digits;
  if (rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.starts_with('+') || rest.starts_with("+-") || (digits->starts_with('+') && rest.starts_with('-')))
    return std::nullopt;
  return parsed_double(rest);
}

std::optional<std::int64_t> parsed_integer(renderer& run, std::string_view text, std::int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) run.fail("an integer has a base from 2 to 36, or 0");
  auto digits = digits_in(text);
  if (!digits) return std::nullopt;
  std::string_view rest = *digits;
  bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.size() > 2 && rest[0] == '0') {
    auto letter = rest[1] | ' ';
    auto own = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    if (own != 10 && (base == 0 || base == own)) {
      rest.remove_prefix(2);
      base = own;
    }
  }
  bool is_octal_of_old = base == 0 && rest.size() > 1 && rest[0] == '0' && rest.find_first_not_of('0') < rest.size();
  if (rest.empty() || rest[0] == '-' || is_octal_of_old) return std::nullopt;
  std::string spelled(rest);
  if (is_negative) spelled.insert(0, 1, '-');
  std::int64_t number = 0;
  auto [end, error] =
      std::from_chars(spelled.data(), spelled.data() + spelled.size(), number, base == 0 ? 10 : static_cast<int>(base));
  bool is_whole_text = end == spelled.data() + spelled.size();
  if (error == std::errc::result_out_of_range && is_whole_text) run.fail("an integer exceeds 64 bits");
  return error == std::errc{} && is_whole_text ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> truncated(renderer& run, std::optional<double> number) {
  constexpr double limit = 9.2e18;
  if (!number || !std::isfinite(*number)) return std::nullopt;
  if (std::abs(*number) >= limit) run.fail("an integer exceeds 64 bits");
  return static_cast<std::int64_t>(*number);
}

value to_integer(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "int", {"default", "base"});
  if (input.is_undefined()) run.fail(kind_of(input) + ", is not an integer");
  if (input.is<double>() && std::isinf(*input.number())) run.fail("infinity is not an integer");
  std::optional<std::int64_t> result = input.integer();
  if (!result && input.number()) result = truncated(run, input.number());
  if (auto* text = input.text()) {
    result = parsed_integer(run, text->bytes(), bound.integer(1, 10));
    if (!result) result = truncated(run, parsed_real(text->bytes()));
  }
  if (result) return *result;
  return bound.find(0) ? bound.at(0) : value(std::int64_t{0});
}

value to_number(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "float", {"default"});
  if (input.is_undefined()) run.fail(kind_of(input) + ", is not a number");
  auto result = input.text() ? parsed_real(input.text()->bytes()) : input.number();
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

/// To the nearest number with so many digits after the point; of two as near, to the even one.
double rounded(double number, std::int64_t precision) {
  if (!std::isfinite(number)) return number;
  if (precision >= 0)
    return std::strtod(digits_of(number, 'f', static_cast<std::size_t>(precision), false).c_str(), nullptr);
  auto scale = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(number / scale) * scale;
}

value round_number(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "round", {"precision", "method"});
  auto number = input.number();
  auto precision = std::clamp<std::int64_t>(bound.integer(0, 0), -300, 300);
  auto method = bound.find(1) ? bound.text(1) : std::string_view("common");
  if (!number) run.fail("'round' does not apply to " + kind_of(input));
  if (method == "common" && input.integer() && precision >= 0) return *input.integer();
  if (method == "common") {
    auto result = rounded(*number, precision);
    return input.integer() ? value(static_cast<std::int64_t>(result)) : value(result);
  }
  if (method != "ceil" && method != "floor") run.fail("'round' knows the methods common, ceil and floor");
  auto scale = std::pow(10.0, static_cast<double>(precision));
  auto scaled = *number * scale;
  if (!std::isfinite(scaled)) run.fail("'round' does not apply to infinity");
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
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
  return run.make_text(as_json(run, input, style), is_trusted(run, input));
}

value joined(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "join", {"d", "attribute"});
  auto separator = bound.find(0) ? as_text(run, bound.at(0)) : traced_text();
  auto items = visited_items(run, input);
  traced_text result;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    auto item = bound.find(1) ? member_of(run, items->items[i], bound.at(1)) : items->items[i];
    auto text = as_text(run, item);
    run.charge(separator.content_bytes() + text.content_bytes());
    if (i > 0) result.append(separator);
    result.append(text);
  }
  return result;
}

value format_with(renderer& run, const value& input, const arguments& given) {
  if (!given.positional.empty() && !given.named.empty()) {
    run.fail("'format' takes arguments by place or by name, not both");
  }
  auto text = as_text(run, input);
  if (given.named.empty()) return percent_format(run, text, run.make_list(given.positional, true));
  dictionary named;
  for (const auto& [name, argument] : given.named) insert(run, named, trusted_text(name), argument);
  return percent_format(run, text, run.checked(std::move(named)));
}

constexpr std::array<std::pair<std::string_view, filter>, 14> text_filters{{
    {"abs", reading<absolute>},
    {"capitalize", reading<in_other_case<capitalize>>},
    {"float", reading<to_number>},
    {"format", reading<format_with>},
    {"int", reading<to_integer>},
    {"join", reading<joined>},
    {"lower", reading<in_other_case<lower>>},
    {"replace", reading<with_replaced>},
    {"round", reading<round_number>},
    {"string", reading<to_text>},
    {"title", reading<in_other_case<title_words, false>>},
    {"tojson", reading<to_json>},
    {"trim", reading<trim>},
    {"upper", reading<in_other_case<upper>>},
}};

}  // namespace

filter find_text_filter(std::string_view name) { return find_named<filter>(text_filters, name); }

filter find_filter(std::string_view name) {
  for (auto find : {find_text_filter, find_sequence_filter, find_group_filter, find_layout_filter}) {
    if (auto found = find(name)) return found;
  }
  return find_markup_filter(name);
}

}  // namespace cogen::text::jinja
