// Filters that divide items into groups, and `attr`.
#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/operators.hpp"
#include "formats/text/jinja/text_operations.hpp"
#include "formats/text/jinja/walks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cogen::text::jinja {
namespace {

constexpr std::int64_t max_groups = 100'000;

bool is_given(const value* filler) { return filler && !filler->is_none(); }

value batch(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "batch", {"linecount", "fill_with"});
  bound.at(0);
  std::vector<value> lines, line;
  for (auto items = visited_items(run, input); const auto& item : items->items) {
    if (equal(run, value(static_cast<std::int64_t>(line.size())), bound.at(0)))
      lines.push_back(run.make_list(std::exchange(line, {})));
    line.push_back(item);
  }
  if (line.empty()) return generated(run, std::move(lines));
  auto missing = is_given(bound.find(1)) ? bound.integer(0, 0) - static_cast<std::int64_t>(line.size()) : 0;
  if (missing > 0) {
    if (missing > max_groups) run.fail("'batch' exceeds the limit of " + std::to_string(max_groups) + " items");
    line.insert(line.end(), static_cast<std::size_t>(missing), bound.at(1));
  }
  lines.push_back(run.make_list(std::move(line)));
  return generated(run, std::move(lines));
}

value slice_items(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "slice", {"slices", "fill_with"});
  bound.at(0);
  auto count = bound.integer(0, 0);
  if (count == 0) run.fail("division by zero");
  if (count > max_groups) run.fail("'slice' exceeds the limit of " + std::to_string(max_groups) + " groups");
  auto items = visited_items(run, input);
  auto size = static_cast<std::int64_t>(items->items.size());
  std::vector<value> groups;
  auto begin = items->items.begin();
  for (std::int64_t i = 0; i < count; ++i) {
    auto end = begin + (size / count + (i < size % count ? 1 : 0));
    std::vector<value> group(begin, end);
    begin = end;
    if (is_given(bound.find(1)) && i >= size % count) group.push_back(bound.at(1));
    groups.push_back(run.make_list(std::move(group)));
  }
  return generated(run, std::move(groups));
}

/// What an item is grouped by: as it is, and in one case.
struct keyed_item {
  value key;
  value folded;
  value item;
};

value group_of(renderer& run, const value& key, std::vector<value> items) {
  auto group = jinja::make_list({key, run.make_list(std::move(items))}, true);
  group.is_group = true;
  run.charge(sizeof(list));
  return run.checked(std::move(group));
}

std::vector<keyed_item> keyed_items(renderer& run, const value& input, const bound_arguments& bound) {
  bound.at(0);
  std::vector<keyed_item> keyed;
  for (auto items = visited_items(run, input); const auto& item : items->items) {
    run.charge(sizeof(keyed_item));
    auto key = item_at_path(run, item, &bound.at(0));
    if (key.is_undefined() && is_given(bound.find(1))) key = bound.at(1);
    bool folds = key.text() && !bound.flag(2, false);
    auto folded = folds ? run.make_text(lower(key.text()->bytes()), key.text()->is_trusted()) : key;
    keyed.push_back({std::move(key), std::move(folded), item});
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& left, const auto& right) {
    auto level = run.enter_here();
    return order(run, left.folded, right.folded) < 0;
  });
  return keyed;
}

value group_by(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "groupby", {"attribute", "default", "case_sensitive"});
  auto keyed = keyed_items(run, input, bound);
  std::vector<value> groups;
  for (auto end = keyed.begin(); end != keyed.end();) {
    auto begin = end;
    std::vector<value> items;
    for (; end != keyed.end() && equal(run, end->folded, begin->folded); ++end) items.push_back(end->item);
    groups.push_back(group_of(run, begin->key, std::move(items)));
  }
  return run.make_list(std::move(groups));
}

/// The attribute alone, not the item of that name.
value attr(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "attr", {"name"});
  bound.text(0);
  if (input.members() && !find_method(input, bound.text(0))) return {};
  if (input.is_undefined()) run.fail(kind_of(input) + ", has no members");
  return attribute_of(run, input, bound.at(0));
}

constexpr std::array<std::pair<std::string_view, filter>, 4> group_filters{
    {{"attr", attr}, {"batch", reading<batch>}, {"groupby", reading<group_by>}, {"slice", reading<slice_items>}}};

}  // namespace

filter find_group_filter(std::string_view name) { return find_named<filter>(group_filters, name); }

}  // namespace cogen::text::jinja
