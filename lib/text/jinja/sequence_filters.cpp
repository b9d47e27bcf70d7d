// What a value is made of, and the filters that choose from, order or measure it.
#include "text/jinja/callables.hpp"
#include "text/jinja/conversions.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/text_operations.hpp"
#include "text/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cogen::text::jinja {
namespace {

shared_list share(renderer& run, std::vector<value> items) { return run.make_list(std::move(items)).shared_items(); }

value generated(renderer& run, std::vector<value> items) { return generator{share(run, std::move(items))}; }

void require_list(renderer& run, const value& input, const char* callee) {
  if (input.is<generator>()) run.fail(std::string("'") + callee + "' does not apply to a generator");
}

value at_index(const std::vector<value>& items, std::int64_t index) {
  auto size = static_cast<std::int64_t>(items.size());
  if (index < 0) index += size;
  return index >= 0 && index < size ? items[static_cast<std::size_t>(index)] : value();
}

value character_at(const traced_text& text, std::int64_t index) {
  if (index < 0) index += static_cast<std::int64_t>(character_count(text.bytes()));
  std::string_view rest = text.bytes();
  for (; index > 0 && !rest.empty(); --index) rest.remove_prefix(first_character(rest).length);
  if (index < 0 || rest.empty()) return {};
  auto begin = text.size() - rest.size();
  return text.part(begin, begin + first_character(rest).length);
}

value loop_member(const loop_state& loop, std::string_view name) {
  auto size = static_cast<std::int64_t>(loop.items->items.size());
  auto index = static_cast<std::int64_t>(loop.index);
  auto neighbor = [&](std::int64_t at) {
    return at >= 0 && at < size ? loop.items->items[static_cast<std::size_t>(at)] : value();
  };
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return size - index;
  if (name == "revindex0") return size - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == size;
  if (name == "length") return size;
  if (name == "previtem") return neighbor(index - 1);
  if (name == "nextitem") return neighbor(index + 1);
  if (name == "depth") return std::int64_t{1};  // only recursive loops, which there are none of, go deeper
  if (name == "depth0") return std::int64_t{0};
  return {};
}

value length(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "length", {});
  if (auto* text = input.text()) return static_cast<std::int64_t>(character_count(text->bytes()));
  if (auto* members = input.members()) return static_cast<std::int64_t>(members->size());
  require_list(run, input, "length");
  return static_cast<std::int64_t>(items_of(run, input)->items.size());
}

value default_value(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "default", {"default_value", "boolean"});
  bool is_missing = bound.flag(1, false) ? !is_true(input) : input.is_undefined();
  if (!is_missing) return input;
  return bound.find(0) ? bound.at(0) : trusted_text("");
}

value first(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "first", {});
  auto items = items_of(run, input);
  return items->items.empty() ? value() : items->items.front();
}

value last(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "last", {});
  require_list(run, input, "last");
  auto items = items_of(run, input);
  return items->items.empty() ? value() : items->items.back();
}

value to_list(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "list", {});
  auto items = items_of(run, input);
  return items->is_tuple ? run.make_list(items->items) : value(items);
}

value pairs_of(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "items", {});
  if (input.is_undefined()) return generated(run, {});
  return generator{call_method(run, input, "items", {}).shared_items()};
}

value reverse(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "reverse", {});
  auto reversed = items_of(run, input)->items;
  std::reverse(reversed.begin(), reversed.end());
  if (!input.text()) return run.make_list(std::move(reversed));
  traced_text text;
  for (const auto& character : reversed) text.append(*character.text());
  return run.make_text(std::move(text));
}

/// The value itself, or the member that a path such as "function.name" or 0 leads to.
value attribute_of(renderer& run, const value& object, const value* path) {
  if (!path || path->is_none()) return object;
  if (!path->text()) return member_of(run, object, *path);
  value found = object;
  std::string_view rest = path->text()->bytes();
  while (true) {
    auto name = rest.substr(0, rest.find('.'));
    std::int64_t index = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    bool is_index = !name.empty() && error == std::errc{} && end == name.data() + name.size();
    found = member_of(run, found, is_index ? value(index) : trusted_text(std::string(name)));
    if (name.size() == rest.size()) return found;
    rest.remove_prefix(name.size() + 1);
  }
}

value folded(renderer& run, const value& what, bool case_sensitive) {
  auto* text = what.text();
  return text && !case_sensitive ? run.make_text(lower(text->bytes()), text->is_trusted()) : what;
}

using keyed = std::pair<value, value>;

std::vector<keyed> with_keys(renderer& run, const list& items, const value* attribute, bool case_sensitive) {
  std::vector<keyed> result;
  run.charge(items.items.size() * sizeof(keyed));
  for (const auto& item : items.items) {
    result.emplace_back(folded(run, attribute_of(run, item, attribute), case_sensitive), item);
  }
  return result;
}

void sort_by_key(renderer& run, std::vector<keyed>& items, bool reverse) {
  std::stable_sort(items.begin(), items.end(), [&](const keyed& left, const keyed& right) {
    auto level = run.enter_here();
    return reverse ? order(run, right.first, left.first) < 0 : order(run, left.first, right.first) < 0;
  });
}

std::vector<value> second_of(std::vector<keyed> items) {
  std::vector<value> result;
  for (auto& item : items) result.push_back(std::move(item.second));
  return result;
}

value sort(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "sort", {"reverse", "case_sensitive", "attribute"});
  auto items = with_keys(run, *items_of(run, input), bound.find(2), bound.flag(1, false));
  sort_by_key(run, items, bound.flag(0, false));
  return run.make_list(second_of(std::move(items)));
}

value dictsort(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "dictsort", {"case_sensitive", "by", "reverse"});
  auto by = bound.find(1) ? bound.text(1) : std::string_view("key");
  if (by != "key" && by != "value") run.fail("'dictsort' sorts by key or by value");
  value place(std::int64_t{by == "value"});
  auto items = with_keys(run, *call_method(run, input, "items", {}).items(), &place, bound.flag(0, false));
  sort_by_key(run, items, bound.flag(2, false));
  return run.make_list(second_of(std::move(items)));
}

value unique(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "unique", {"case_sensitive", "attribute"});
  dictionary seen;
  std::vector<value> result;
  for (auto& [key, item] : with_keys(run, *items_of(run, input), bound.find(1), bound.flag(0, false))) {
    if (key.items() || key.members()) run.fail("'unique' does not apply to items that are " + kind_of(key));
    if (seen.find(key)) continue;
    seen.insert(key, true);
    result.push_back(item);
  }
  return generated(run, std::move(result));
}

value extreme(renderer& run, const value& input, const arguments& given, const char* name, int wanted) {
  bound_arguments bound(run, given, name, {"case_sensitive", "attribute"});
  auto items = with_keys(run, *items_of(run, input), bound.find(1), bound.flag(0, false));
  if (items.empty()) return {};
  std::size_t best = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (order(run, items[i].first, items[best].first) * wanted > 0) best = i;
  }
  return items[best].second;
}

value smallest(renderer& run, const value& input, const arguments& given) {
  return extreme(run, input, given, "min", -1);
}
value largest(renderer& run, const value& input, const arguments& given) {
  return extreme(run, input, given, "max", 1);
}

value sum(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "sum", {"attribute", "start"});
  auto total = bound.find(1) ? bound.at(1) : value(std::int64_t{0});
  for (auto items = items_of(run, input); const auto& item : items->items) {
    total = calculate(run, arithmetic::add, total, attribute_of(run, item, bound.find(0)));
  }
  return total;
}

arguments without_first(const arguments& given, std::size_t count) {
  arguments rest{given.positional, given.named};
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

const traced_text& name_in(renderer& run, const value& what, const char* callee) {
  if (auto* name = what.text()) return *name;
  run.fail(std::string("'") + callee + "' needs a name, not " + kind_of(what));
}

value_test known_test(renderer& run, const std::string& name) {
  if (auto test = find_test(name)) return test;
  run.fail("the test '" + name + "' is unknown");
}

/// Filters that choose or map find nothing to visit in none, false or 0.
shared_list items_unless_false(renderer& run, const value& input) {
  return is_true(input) ? items_of(run, input) : share(run, {});
}

struct choice {
  const char* name;
  bool by_attribute;
  bool keeps;
};

value choose(renderer& run, const value& input, const arguments& given, choice how) {
  std::size_t used = how.by_attribute ? 1 : 0;
  if (given.positional.size() < used) run.fail(std::string("'") + how.name + "' needs the name of an attribute");
  const value* attribute = how.by_attribute ? &given.positional[0] : nullptr;
  bool has_test = given.positional.size() > used;
  auto test = has_test ? known_test(run, name_in(run, given.positional[used], how.name).bytes()) : nullptr;
  auto rest = without_first(given, has_test ? used + 1 : used);
  std::vector<value> chosen;
  for (auto items = items_unless_false(run, input); const auto& item : items->items) {
    auto level = run.enter_here();
    auto what = attribute_of(run, item, attribute);
    if ((test ? test(run, what, rest) : is_true(what)) == how.keeps) chosen.push_back(item);
  }
  return generated(run, std::move(chosen));
}

value select(renderer& run, const value& input, const arguments& given) {
  return choose(run, input, given, {"select", false, true});
}
value reject(renderer& run, const value& input, const arguments& given) {
  return choose(run, input, given, {"reject", false, false});
}
value selectattr(renderer& run, const value& input, const arguments& given) {
  return choose(run, input, given, {"selectattr", true, true});
}
value rejectattr(renderer& run, const value& input, const arguments& given) {
  return choose(run, input, given, {"rejectattr", true, false});
}

value map_attribute(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "map", {"attribute", "default"});
  std::vector<value> mapped;
  for (auto items = items_unless_false(run, input); const auto& item : items->items) {
    auto level = run.enter_here();
    auto what = attribute_of(run, item, &bound.at(0));
    mapped.push_back(what.is_undefined() && bound.find(1) ? bound.at(1) : what);
  }
  return generated(run, std::move(mapped));
}

value map(renderer& run, const value& input, const arguments& given) {
  if (given.positional.empty()) return map_attribute(run, input, given);
  const auto& name = name_in(run, given.positional[0], "map").bytes();
  auto apply = find_filter(name);
  if (!apply) run.fail("the filter '" + name + "' is unknown");
  auto rest = without_first(given, 1);
  std::vector<value> mapped;
  for (auto items = items_unless_false(run, input); const auto& item : items->items) {
    auto level = run.enter_here();
    mapped.push_back(apply(run, item, rest));
  }
  return generated(run, std::move(mapped));
}

constexpr std::array<std::pair<std::string_view, filter>, 20> sequence_filters{{
    {"count", length},      {"d", default_value},       {"default", default_value},
    {"dictsort", dictsort}, {"first", first},           {"items", pairs_of},
    {"last", last},         {"length", length},         {"list", to_list},
    {"map", map},           {"max", largest},           {"min", smallest},
    {"reject", reject},     {"rejectattr", rejectattr}, {"reverse", reverse},
    {"select", select},     {"selectattr", selectattr}, {"sort", sort},
    {"sum", sum},           {"unique", unique},
}};

}  // namespace

std::vector<value> characters_of(renderer& run, const traced_text& text) {
  std::vector<value> characters;
  for (std::size_t at = 0; at < text.size();) {
    auto end = at + first_character(std::string_view(text.bytes()).substr(at)).length;
    characters.push_back(run.make_text(text.part(at, end)));
    at = end;
  }
  return characters;
}

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

shared_list items_of(renderer& run, const value& what) {
  if (auto items = what.shared_items()) return items;
  if (auto items = what.generated()) return items;
  if (what.is_undefined()) return share(run, {});
  if (auto* text = what.text()) return share(run, characters_of(run, *text));
  if (auto* members = what.members()) {
    std::vector<value> keys;
    for (const auto& item : members->items()) keys.push_back(item.first);
    return share(run, std::move(keys));
  }
  run.fail(kind_of(what) + " has no items to visit");
}

value member_of(renderer& run, const value& object, const value& key) {
  if (object.is_undefined()) run.fail(kind_of(object) + ", has no members");
  if (auto* members = object.members()) {
    auto* found = members->find(key);
    return found ? *found : value();
  }
  if (auto index = key.integer()) {
    if (auto* items = object.items()) return at_index(items->items, *index);
    if (auto* text = object.text()) {
      run.charge(text->size() / 16);
      return character_at(*text, *index);
    }
  }
  if (auto* name = key.text()) {
    if (auto* loop = object.loop()) return loop_member(*loop, name->bytes());
    if (auto* space = object.space()) {
      auto found = space->members.find(name->bytes());
      return found == space->members.end() ? value() : found->second;
    }
  }
  return {};
}

filter find_sequence_filter(std::string_view name) { return find_named<filter>(sequence_filters, name); }

filter find_filter(std::string_view name) {
  auto found = find_text_filter(name);
  return found ? found : find_sequence_filter(name);
}

}  // namespace cogen::text::jinja
