// The methods that texts, lists and dictionaries have. None changes its object.
#include "text/character_class.hpp"
#include "text/jinja/callables.hpp"
#include "text/jinja/conversions.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/text_operations.hpp"
#include "text/utf8.hpp"

#include <array>
#include <span>
#include <utility>

namespace cogen::text::jinja {
namespace {

template <std::string (*Change)(std::string_view)>
value change_case(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "letter case", {});
  return run.make_text(Change(self.text()->bytes()), self.text()->is_trusted());
}

template <bool Left, bool Right>
value strip(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "strip", {"chars"});
  return run.make_text(stripped(*self.text(), bound.optional_text(0), {Left, Right}));
}

template <bool FromRight>
value split_text(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "split", {"sep", "maxsplit"});
  return run.make_list(split(run, *self.text(), bound.optional_text(0), bound.integer(1, -1), FromRight));
}

value splitlines(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "splitlines", {"keepends"});
  return run.make_list(lines_of(run, *self.text(), bound.flag(0, false)));
}

template <bool AtBegin>
bool matches(std::string_view text, std::string_view part) {
  return AtBegin ? text.starts_with(part) : text.ends_with(part);
}

template <bool AtBegin>
value begins_or_ends(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, AtBegin ? "startswith" : "endswith", {"prefix"});
  auto* choices = bound.at(0).items();
  if (!choices) return matches<AtBegin>(self.text()->bytes(), bound.text(0));
  for (const auto& choice : choices->items) {
    if (!choice.text()) run.fail("a text can only begin or end with a text, not with " + kind_of(choice));
    if (matches<AtBegin>(self.text()->bytes(), choice.text()->bytes())) return true;
  }
  return false;
}

template <bool Prefix>
value remove_part(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, Prefix ? "removeprefix" : "removesuffix", {"part"});
  const auto& text = *self.text();
  auto part = bound.text(0);
  if (!matches<Prefix>(text.bytes(), part)) return self;
  return run.make_text(Prefix ? text.part(part.size(), text.size()) : text.part(0, text.size() - part.size()));
}

value replace(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "replace", {"old", "new", "count"});
  bound.text(0);
  bound.text(1);
  return replaced(run, *self.text(), *bound.at(0).text(), *bound.at(1).text(), bound.integer(2, -1));
}

value join(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "join", {"iterable"});
  traced_text result;
  bool is_first = true;
  for (auto items = items_of(run, bound.at(0)); const auto& item : items->items) {
    if (!item.text()) run.fail("'join' joins texts, not " + kind_of(item));
    run.charge(item.text()->size() + self.text()->size());
    if (!is_first) result.append(*self.text());
    is_first = false;
    result.append(*item.text());
  }
  return result;
}

template <bool FromRight>
value find_part(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, FromRight ? "rfind" : "find", {"sub"});
  std::string_view text = self.text()->bytes();
  run.charge(text.size() / 16);
  auto at = FromRight ? text.rfind(bound.text(0)) : text.find(bound.text(0));
  if (at == std::string_view::npos) return std::int64_t{-1};
  return static_cast<std::int64_t>(character_count(text.substr(0, at)));
}

std::int64_t count_of(std::string_view text, std::string_view part) {
  if (part.empty()) return static_cast<std::int64_t>(character_count(text)) + 1;
  std::int64_t count = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

value count_part(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "count", {"sub"});
  run.charge(self.text()->size() / 16);
  return count_of(self.text()->bytes(), bound.text(0));
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

bool is_letter(char32_t c) { return is_word_character(c) && !is_numeric(c) && c != '_'; }
bool is_letter_or_digit(char32_t c) { return is_letter(c) || is_numeric(c); }

template <std::string (*Change)(std::string_view), std::string (*Other)(std::string_view)>
value is_in_case(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "this method", {});
  const auto& text = self.text()->bytes();
  return Change(text) == text && Other(text) != text;
}

value get(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "get", {"key", "default"});
  if (auto* found = self.members()->find(bound.at(0))) return *found;
  return bound.find(1) ? bound.at(1) : value(none{});
}

value items(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "items", {});
  std::vector<value> pairs;
  for (const auto& [key, what] : self.members()->items()) pairs.push_back(run.make_list({key, what}, true));
  return run.make_list(std::move(pairs));
}

value keys(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "keys", {});
  return items_of(run, self);
}

value values(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "values", {});
  std::vector<value> result;
  for (const auto& item : self.members()->items()) result.push_back(item.second);
  return run.make_list(std::move(result));
}

value itself(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "copy", {});
  return self;
}

value index_of(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "index", {"value"});
  const auto& items = self.items()->items;
  run.charge(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (are_equal(items[i], bound.at(0))) return static_cast<std::int64_t>(i);
  }
  run.fail("'index' finds no such item");
}

value count_items(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "count", {"value"});
  std::int64_t count = 0;
  run.charge(self.items()->items.size());
  for (const auto& item : self.items()->items) count += are_equal(item, bound.at(0));
  return count;
}

value cycle(renderer& run, const value& self, const arguments& given) {
  if (given.positional.empty() || !given.named.empty()) run.fail("'cycle' needs something to cycle through");
  return given.positional[self.loop()->index % given.positional.size()];
}

using method = std::pair<std::string_view, filter>;

constexpr std::array<method, 26> text_methods{{
    {"capitalize", change_case<capitalize>},
    {"count", count_part},
    {"endswith", begins_or_ends<false>},
    {"find", find_part<false>},
    {"format", format},
    {"isalnum", consists_of<is_letter_or_digit>},
    {"isalpha", consists_of<is_letter>},
    {"isdigit", consists_of<is_numeric>},
    {"islower", is_in_case<lower, upper>},
    {"isspace", consists_of<is_white_space>},
    {"isupper", is_in_case<upper, lower>},
    {"join", join},
    {"lower", change_case<lower>},
    {"lstrip", strip<true, false>},
    {"removeprefix", remove_part<true>},
    {"removesuffix", remove_part<false>},
    {"replace", replace},
    {"rfind", find_part<true>},
    {"rsplit", split_text<true>},
    {"rstrip", strip<false, true>},
    {"split", split_text<false>},
    {"splitlines", splitlines},
    {"startswith", begins_or_ends<true>},
    {"strip", strip<true, true>},
    {"title", change_case<title>},
    {"upper", change_case<upper>},
}};

constexpr std::array<method, 5> dictionary_methods{{
    {"copy", itself},
    {"get", get},
    {"items", items},
    {"keys", keys},
    {"values", values},
}};

constexpr std::array<method, 3> list_methods{{
    {"copy", itself},
    {"count", count_items},
    {"index", index_of},
}};

constexpr std::array<method, 1> loop_methods{{{"cycle", cycle}}};

std::span<const method> methods_of(const value& object) {
  if (object.text()) return text_methods;
  if (object.members()) return dictionary_methods;
  if (object.items()) return list_methods;
  if (object.loop()) return loop_methods;
  return {};
}

}  // namespace

bool has_method(const value& object, std::string_view name) {
  return find_named<filter>(methods_of(object), name) != nullptr;
}

value call_method(renderer& run, const value& object, std::string_view name, const arguments& given) {
  if (auto call = find_named<filter>(methods_of(object), name)) return call(run, object, given);
  run.fail(kind_of(object) + " has no method '" + std::string(name) + "'");
}

}  // namespace cogen::text::jinja
