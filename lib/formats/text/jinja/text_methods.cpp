// The methods of texts.
#include "formats/text/character_class.hpp"
#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/text_operations.hpp"
#include "formats/text/utf8.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <utility>

namespace cogen::text::jinja {
namespace {

/// The part of a text that optional arguments bound, as in text[start:end]; nothing where it begins behind the text.
struct text_bounds {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_outside = false;
};

text_bounds bounds_in(renderer& run, std::string_view text, const bound_arguments& bound) {
  auto is_given = [&](std::size_t parameter) { return bound.find(parameter) && !bound.find(parameter)->is_none(); };
  if (!is_given(1) && !is_given(2)) return {0, text.size()};
  run.look_at(text.size());
  auto size = static_cast<std::int64_t>(character_count(text));
  auto placed = [&](std::int64_t index) { return std::max<std::int64_t>(index < 0 ? index + size : index, 0); };
  auto begin = is_given(1) ? placed(bound.integer(1, 0)) : 0;
  auto end = is_given(2) ? std::min(placed(bound.integer(2, 0)), size) : size;
  if (begin > size || begin > end) return {0, 0, true};
  return {offset_of(text, begin), offset_of(text, end)};
}

/// A text made of all of another.
value like(renderer& run, const traced_text& text, std::string changed) {
  traced_text result(std::move(changed), text.is_trusted());
  return run.make_text(text.is_markup() ? result.as_markup() : std::move(result));
}

template <std::string (*Change)(std::string_view)>
value change_case(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "letter case", {});
  run.charge(2 * self.text()->size());
  return like(run, *self.text(), Change(self.text()->bytes()));
}

template <bool Left, bool Right>
value strip(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "strip", {"chars"});
  refuse_named(run, given, "strip");
  return run.make_text(stripped(*self.text(), bound.optional_text(0), {Left, Right}));
}

template <bool FromRight>
value split_text(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "split", {"sep", "maxsplit"});
  return run.make_list(split(run, *self.text(), bound.optional_text(0), bound.integer(1, -1), FromRight));
}

value splitlines(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "splitlines", {"keepends"});
  return run.make_list(lines_of(run, *self.text(), bound.integer(0, 0) != 0));
}

template <bool AtBegin>
bool matches(renderer& run, std::string_view text, std::string_view part) {
  run.look_at(part.size() <= text.size() ? part.size() : 0);
  return AtBegin ? text.starts_with(part) : text.ends_with(part);
}

template <bool AtBegin>
value begins_or_ends(renderer& run, const value& self, const arguments& given) {
  constexpr auto name = AtBegin ? "startswith" : "endswith";
  bound_arguments bound(run, given, name, {"prefix", "start", "end"});
  refuse_named(run, given, name);
  auto [begin, end, is_outside] = bounds_in(run, self.text()->bytes(), bound);
  auto text = std::string_view(self.text()->bytes()).substr(begin, end - begin);
  auto* choices = bound.at(0).items();
  if (!choices) {
    auto part = bound.text(0);
    return !is_outside && matches<AtBegin>(run, text, part);
  }
  if (!choices->is_tuple) bound.text(0);
  for (const auto& choice : choices->items) {
    run.visit(1);
    if (!choice.text()) run.fail("a text can only begin or end with a text, not with " + kind_of(choice));
    if (!is_outside && matches<AtBegin>(run, text, choice.text()->bytes())) return true;
  }
  return false;
}

template <bool Prefix>
value remove_part(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, Prefix ? "removeprefix" : "removesuffix", {"part"});
  refuse_named(run, given, "removeprefix");
  const auto& text = *self.text();
  auto part = bound.text(0);
  if (!matches<Prefix>(run, text.bytes(), part)) return self;
  return run.make_text(Prefix ? text.part(part.size(), text.size()) : text.part(0, text.size() - part.size()));
}

value replace(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "replace", {"old", "new", "count"});
  refuse_named(run, given, "replace");
  bound.text(0);
  bound.text(1);
  return replaced(run, *self.text(), *bound.at(0).text(), *bound.at(1).text(), bound.integer(2, -1));
}

value join(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "join", {"iterable"});
  refuse_named(run, given, "join");
  traced_text result;
  bool is_first = true;
  for (auto items = visited_items(run, bound.at(0)); const auto& item : items->items) {
    if (!item.text()) run.fail("'join' joins texts, not " + kind_of(item));
    run.charge(item.text()->content_bytes() + self.text()->content_bytes());
    if (!is_first) result.append(*self.text());
    is_first = false;
    result.append(*item.text());
  }
  return result;
}

template <bool FromRight, bool MustBe>
value find_part(renderer& run, const value& self, const arguments& given) {
  constexpr auto name = MustBe ? "index" : "find";
  bound_arguments bound(run, given, name, {"sub", "start", "end"});
  refuse_named(run, given, name);
  std::string_view text = self.text()->bytes();
  auto part = bound.text(0);
  auto [begin, end, is_outside] = bounds_in(run, text, bound);
  auto within = text.substr(begin, end - begin);
  auto position = is_outside  ? std::string_view::npos
                  : FromRight ? last_place(within, part)
                              : first_place(within, part);
  if (position != std::string_view::npos)
    return static_cast<std::int64_t>(character_count(text.substr(0, begin + position)));
  if (MustBe) run.fail("'index' does not find this text");
  return std::int64_t{-1};
}

std::int64_t count_of(std::string_view text, std::string_view part) {
  if (part.empty()) return static_cast<std::int64_t>(character_count(text)) + 1;
  std::int64_t count = 0;
  for (auto position = first_place(text, part); position != std::string_view::npos;
       position = first_place(text, part, position + part.size())) {
    ++count;
  }
  return count;
}

value count_part(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "count", {"sub", "start", "end"});
  refuse_named(run, given, "count");
  auto part = bound.text(0);
  auto [begin, end, is_outside] = bounds_in(run, self.text()->bytes(), bound);
  return is_outside ? std::int64_t{0}
                    : count_of(std::string_view(self.text()->bytes()).substr(begin, end - begin), part);
}

template <bool (*Belongs)(char32_t)>
value consists_of(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "this method", {});
  std::string_view rest = self.text()->bytes();
  bool any = !rest.empty();
  while (!rest.empty()) {
    auto character = first_character(rest);
    if (!Belongs(character.code_point)) return false;
    rest.remove_prefix(character.length);
  }
  return any;
}

bool is_of(char32_t c, std::initializer_list<int> categories) {
  auto category = static_cast<int>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
  return std::ranges::find(categories, category) != categories.end();
}

bool is_letter(char32_t c) {
  return is_of(c, {UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT, UTF8PROC_CATEGORY_LM,
                   UTF8PROC_CATEGORY_LO});
}
bool is_decimal(char32_t c) { return is_of(c, {UTF8PROC_CATEGORY_ND}); }
bool is_superscript(char32_t c) {
  return c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 || (c >= 0x2074 && c <= 0x2079) ||
         (c >= 0x2080 && c <= 0x2089);
}
bool is_digit(char32_t c) {
  bool is_circled = (c >= 0x2460 && c <= 0x2468) || (c >= 0x2474 && c <= 0x247C) || (c >= 0x2488 && c <= 0x2490) ||
                    c == 0x24EA || (c >= 0x24F5 && c <= 0x24FD) || c == 0x24FF || (c >= 0x2776 && c <= 0x277E) ||
                    (c >= 0x2780 && c <= 0x2788) || (c >= 0x278A && c <= 0x2792);
  return is_decimal(c) || is_superscript(c) || is_circled;
}
bool is_number(char32_t c) { return is_of(c, {UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NL, UTF8PROC_CATEGORY_NO}); }
bool is_letter_or_digit(char32_t c) { return is_letter(c) || is_number(c); }

template <bool (*Belongs)(char32_t)>
value is_empty_or_consists_of(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "this method", {});
  return self.text()->empty() ? value(true) : consists_of<Belongs>(run, self, given);
}

bool is_ascii(char32_t c) { return c < 0x80; }

value is_identifier(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "isidentifier", {});
  std::string_view rest = self.text()->bytes();
  bool is_first = true;
  for (; !rest.empty(); is_first = false) {
    auto character = first_character(rest);
    auto c = character.code_point;
    bool begins = c == '_' || is_letter(c) || is_of(c, {UTF8PROC_CATEGORY_NL});
    bool continues = is_decimal(c) || is_of(c, {UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_MC, UTF8PROC_CATEGORY_PC});
    if (!begins && (is_first || !continues)) return false;
    rest.remove_prefix(character.length);
  }
  return !is_first;
}

value is_title(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "istitle", {});
  const auto& text = self.text()->bytes();
  run.look_at(2 * text.size());
  run.charge(3 * text.size());
  return title(text) == text && (lower(text) != text || upper(text) != text);
}

template <std::string (*Change)(std::string_view), std::string (*Other)(std::string_view)>
value is_in_case(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "this method", {});
  const auto& text = self.text()->bytes();
  run.look_at(text.size());
  run.charge(2 * text.size());
  return Change(text) == text && Other(text) != text;
}

/// Where the text stands in the width that is asked for.
enum class side { left, middle, right };

template <side Where>
value justify(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "this method", {"width", "fillchar"});
  refuse_named(run, given, "this method");
  bound.at(0);
  if (bound.find(1) && character_count(bound.text(1)) != 1) run.fail("'fillchar' must be one character");
  auto fill = bound.find(1) ? *bound.at(1).text() : traced_text(" ", true);
  auto size = static_cast<std::int64_t>(character_count(self.text()->bytes()));
  auto missing = std::max<std::int64_t>(bound.integer(0, 0) - size, 0);
  auto half = missing / 2 + (missing & bound.integer(0, 0) & 1);
  auto left = Where == side::left ? 0 : Where == side::right ? missing : half;
  traced_text result;
  auto pad = [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      run.charge(fill.size());
      result.append(fill);
    }
  };
  pad(left);
  result.append(*self.text());
  pad(missing - left);
  return run.make_text(std::move(result));
}

value fill_with_zeros(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "zfill", {"width"});
  refuse_named(run, given, "zfill");
  bound.at(0);
  const auto& text = *self.text();
  auto missing = bound.integer(0, 0) - static_cast<std::int64_t>(character_count(text.bytes()));
  if (missing <= 0) return self;
  run.charge(static_cast<std::size_t>(missing));
  std::size_t sign = text.bytes().starts_with('+') || text.bytes().starts_with('-') ? 1 : 0;
  auto result = text.part(0, sign);
  result.append(std::string(static_cast<std::size_t>(missing), '0'), true);
  result.append(text.part(sign, text.size()));
  return run.make_text(std::move(result));
}

template <bool FromRight>
value partition(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "partition", {"sep"});
  refuse_named(run, given, "partition");
  auto separator = bound.text(0);
  if (separator.empty()) run.fail("a text cannot be split at an empty text");
  const auto& text = *self.text();
  auto position = FromRight ? last_place(text.bytes(), separator) : first_place(text.bytes(), separator);
  std::vector<value> parts(3, trusted_text(""));
  if (position == std::string::npos) {
    parts[FromRight ? 2 : 0] = self;
  } else {
    parts[0] = run.make_text(text.part(0, position));
    parts[1] = run.make_text(text.part(position, position + separator.size()));
    parts[2] = run.make_text(text.part(position + separator.size(), text.size()));
  }
  return run.make_list(std::move(parts), true);
}

value expand_tabs(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "expandtabs", {"tabsize"});
  auto size = bound.integer(0, 8);
  const auto& text = *self.text();
  traced_text result;
  std::int64_t column = 0;
  for (const auto& character : characters_of(run, text)) {
    const auto& bytes = character.text()->bytes();
    if (bytes != "\t") {
      result.append(*character.text());
      column = bytes == "\n" || bytes == "\r" ? 0 : column + 1;
    } else if (size > 0) {
      auto spaces = size - column % size;
      run.charge(static_cast<std::size_t>(spaces));
      result.append(std::string(static_cast<std::size_t>(spaces), ' '), character.text()->is_trusted());
      column += spaces;
    }
  }
  return run.make_text(std::move(result));
}

constexpr std::array<named_method, 44> text_methods{{
    {"capitalize", reading<change_case<capitalize>>},
    {"casefold", reading<change_case<case_folded>>},
    {"center", reading<justify<side::middle>>},
    {"count", reading<count_part>},
    {"endswith", begins_or_ends<false>},
    {"expandtabs", reading<expand_tabs>},
    {"find", reading<find_part<false, false>>},
    {"format", reading<format>},
    {"format_map", reading<format_map>},
    {"index", reading<find_part<false, true>>},
    {"isalnum", reading<consists_of<is_letter_or_digit>>},
    {"isalpha", reading<consists_of<is_letter>>},
    {"isascii", reading<is_empty_or_consists_of<is_ascii>>},
    {"isdecimal", reading<consists_of<is_decimal>>},
    {"isdigit", reading<consists_of<is_digit>>},
    {"isidentifier", reading<is_identifier>},
    {"islower", reading<is_in_case<lower, upper>>},
    {"isnumeric", reading<consists_of<is_number>>},
    {"isprintable", reading<is_empty_or_consists_of<is_printable>>},
    {"isspace", reading<consists_of<is_python_space>>},
    {"istitle", reading<is_title>},
    {"isupper", reading<is_in_case<upper, lower>>},
    {"join", reading<join>},
    {"ljust", reading<justify<side::left>>},
    {"lower", reading<change_case<lower>>},
    {"lstrip", reading<strip<true, false>>},
    {"partition", reading<partition<false>>},
    {"removeprefix", remove_part<true>},
    {"removesuffix", remove_part<false>},
    {"replace", reading<replace>},
    {"rfind", reading<find_part<true, false>>},
    {"rindex", reading<find_part<true, true>>},
    {"rjust", reading<justify<side::right>>},
    {"rpartition", reading<partition<true>>},
    {"rsplit", reading<split_text<true>>},
    {"rstrip", reading<strip<false, true>>},
    {"split", reading<split_text<false>>},
    {"splitlines", reading<splitlines>},
    {"startswith", begins_or_ends<true>},
    {"strip", reading<strip<true, true>>},
    {"swapcase", reading<change_case<swapped_case>>},
    {"title", reading<change_case<title>>},
    {"upper", reading<change_case<upper>>},
    {"zfill", reading<fill_with_zeros>},
}};

}  // namespace

const named_method* find_text_method(std::string_view name) {
  auto found = std::ranges::find(text_methods, name, &named_method::name);
  return found == text_methods.end() ? nullptr : &*found;
}

}  // namespace cogen::text::jinja
