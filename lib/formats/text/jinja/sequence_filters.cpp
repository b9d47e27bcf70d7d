// What a value is made of, and the filters that choose from, order or measure it.
#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/operators.hpp"
#include "formats/text/jinja/text_operations.hpp"
#include "formats/text/jinja/walks.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cogen::text::jinja {
namespace {

void require_list(renderer& run, const value& input, const char* callee) {
  if (input.generated()) run.fail(std::string("'") + callee + "' does not apply to a generator");
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
  if (auto* source = input.generated()) {
    return source->next < source->items->items.size() ? source->items->items[source->next++] : value();
  }
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
  if (!input.members()) run.fail("'items' does not apply to " + kind_of(input));
  return generator{items_of(run, call_method(run, input, "items", {}))};
}

value reverse(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "reverse", {});
  auto items = visited_items(run, input);
  run.charge(items->items.size() * sizeof(value));
  auto reversed = items->items;
  std::reverse(reversed.begin(), reversed.end());
  if (input.generated()) return run.make_list(std::move(reversed));
  if (!input.text()) return generated(run, std::move(reversed));
  traced_text text;
  for (const auto& character : reversed) text.append(*character.text());
  return run.make_text(input.text()->is_markup() ? text.as_markup() : std::move(text));
}

value folded(renderer& run, const value& object, bool case_sensitive) {
  auto* text = object.text();
  return text && !case_sensitive ? run.make_text(lower(text->bytes()), text->is_trusted()) : object;
}

using keyed = std::pair<value, value>;

/// A list of what attributes with commas between them lead to. Equal items of lists need no order.
value items_at_paths(renderer& run, const value& object, const value* paths, bool case_sensitive) {
  auto* names = paths ? paths->text() : nullptr;
  std::vector<value> found;
  if (!names) {
    found.push_back(folded(run, item_at_path(run, object, paths), case_sensitive));
    return run.make_list(std::move(found));
  }
  for (const auto& path : split(run, *names, ",", -1, false)) {
    found.push_back(folded(run, item_at_path(run, object, &path), case_sensitive));
  }
  return run.make_list(std::move(found));
}

std::vector<keyed> with_keys(renderer& run, const list& items, const value* attribute, bool case_sensitive) {
  std::vector<keyed> result;
  run.charge(items.items.size() * sizeof(keyed));
  for (const auto& item : items.items) {
    result.emplace_back(folded(run, item_at_path(run, item, attribute), case_sensitive), item);
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
  std::vector<keyed> items;
  for (auto visited = visited_items(run, input); const auto& item : visited->items) {
    run.charge(sizeof(keyed));
    items.emplace_back(items_at_paths(run, item, bound.find(2), bound.flag(1, false)), item);
  }
  sort_by_key(run, items, bound.integer(0, 0) != 0);
  return run.make_list(second_of(std::move(items)));
}

value dictsort(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "dictsort", {"case_sensitive", "by", "reverse"});
  auto order = bound.find(1) ? bound.text(1) : std::string_view("key");
  if (order != "key" && order != "value") run.fail("'dictsort' sorts by key or by value");
  value place(std::int64_t{order == "value"});
  if (!input.members()) run.fail("'dictsort' does not apply to " + kind_of(input));
  auto items = with_keys(run, *items_of(run, call_method(run, input, "items", {})), &place, bound.flag(0, false));
  sort_by_key(run, items, bound.integer(2, 0) != 0);
  return run.make_list(second_of(std::move(items)));
}

value unique(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "unique", {"case_sensitive", "attribute"});
  dictionary seen;
  std::vector<value> result;
  for (auto& [key, item] : with_keys(run, *items_of(run, input), bound.find(1), bound.flag(0, false))) {
    if (seen.find_spelled(required_key(run, key))) continue;
    insert(run, seen, key, true);
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
  if (total.text()) run.fail("'sum' adds numbers: 'join' joins texts");
  for (auto items = visited_items(run, input); const auto& item : items->items) {
    total = calculate(run, arithmetic::add, total, item_at_path(run, item, bound.find(0)));
  }
  return total;
}

arguments without_first(renderer& run, const arguments& given, std::size_t count) {
  run.charge((given.positional.size() + given.named.size()) * sizeof(value));
  arguments rest{given.positional, given.named};
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

const traced_text& name_in(renderer& run, const value& object, const char* callee) {
  if (auto* name = object.text()) return *name;
  run.fail(std::string("'") + callee + "' needs a name, not " + kind_of(object));
}

// Filters that choose or map find nothing to visit, and look at no argument, in none, false or 0.

value_test known_test(renderer& run, const std::string& name) {
  if (auto test = find_test(name)) return test;
  run.fail("the test '" + name + "' is unknown");
}

struct choice {
  const char* name;
  bool by_attribute;
  bool keeps;
};

value choose(renderer& run, const value& input, const arguments& given, choice options) {
  if (!is_true(input)) return generated(run, {});
  std::size_t used = options.by_attribute ? 1 : 0;
  if (given.positional.size() < used) run.fail(std::string("'") + options.name + "' needs the name of an attribute");
  const value* attribute = options.by_attribute ? &given.positional[0] : nullptr;
  bool has_test = given.positional.size() > used;
  auto test = has_test ? known_test(run, name_in(run, given.positional[used], options.name).bytes()) : nullptr;
  auto rest = without_first(run, given, has_test ? used + 1 : used);
  std::vector<value> chosen;
  for (auto items = visited_items(run, input); const auto& item : items->items) {
    auto level = run.enter_here();
    auto object = item_at_path(run, item, attribute);
    if ((test ? test(run, object, rest) : is_true(object)) == options.keeps) chosen.push_back(item);
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
  for (auto items = visited_items(run, input); const auto& item : items->items) {
    auto level = run.enter_here();
    auto object = item_at_path(run, item, &bound.at(0));
    bool is_missing = object.is_undefined() && bound.find(1) && !bound.at(1).is_none();
    mapped.push_back(is_missing ? bound.at(1) : object);
  }
  return generated(run, std::move(mapped));
}

value map(renderer& run, const value& input, const arguments& given) {
  if (!is_true(input)) return generated(run, {});
  if (given.positional.empty()) return map_attribute(run, input, given);
  const auto& name = name_in(run, given.positional[0], "map").bytes();
  auto apply = find_filter(name);
  if (!apply) run.fail("the filter '" + name + "' is unknown");
  auto rest = without_first(run, given, 1);
  std::vector<value> mapped;
  for (auto items = visited_items(run, input); const auto& item : items->items) {
    auto level = run.enter_here();
    mapped.push_back(apply(run, item, rest));
  }
  return generated(run, std::move(mapped));
}

constexpr std::array<std::pair<std::string_view, filter>, 20> sequence_filters{{
    {"count", reading<length>},
    {"d", default_value},
    {"default", default_value},
    {"dictsort", reading<dictsort>},
    {"first", reading<first>},
    {"items", reading<pairs_of>},
    {"last", reading<last>},
    {"length", reading<length>},
    {"list", reading<to_list>},
    {"map", reading<map>},
    {"max", reading<largest>},
    {"min", reading<smallest>},
    {"reject", reading<reject>},
    {"rejectattr", reading<rejectattr>},
    {"reverse", reading<reverse>},
    {"select", reading<select>},
    {"selectattr", reading<selectattr>},
    {"sort", reading<sort>},
    {"sum", reading<sum>},
    {"unique", reading<unique>},
}};

}  // namespace

value item_at_path(renderer& run, const value& object, const value* path) {
  if (!path || path->is_none()) return object;
  if (!path->text()) return item_of(run, object, *path);
  value found = object;
  std::string_view rest = path->text()->bytes();
  while (true) {
    auto name = rest.substr(0, rest.find('.'));
    run.visit(5);
    run.look_at(name.size());
    std::int64_t index = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    bool is_index = !name.empty() && name[0] != '-' && error == std::errc{} && end == name.data() + name.size();
    found = item_of(run, found, is_index ? value(index) : trusted_text(std::string(name)));
    if (name.size() == rest.size()) return found;
    rest.remove_prefix(name.size() + 1);
  }
}

filter find_sequence_filter(std::string_view name) { return find_named<filter>(sequence_filters, name); }

}  // namespace cogen::text::jinja
