// The methods of lists, dictionaries, numbers and of what rendering makes. None but a cycler's changes its object.
#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/operators.hpp"
#include "formats/text/jinja/walks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

namespace cogen::text::jinja {
namespace {

shared_list shared(renderer& run, std::vector<value> items) { return run.make_list(std::move(items)).shared_items(); }

value get(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "get", {"key", "default"});
  refuse_named(run, given, "get");
  if (auto* found = self.members()->find_spelled(required_key(run, bound.at(0)))) return *found;
  return bound.find(1) ? bound.at(1) : value(none{});
}

value items(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "items", {});
  std::vector<value> pairs;
  for (const auto& [key, member] : self.members()->items()) pairs.push_back(run.make_list({key, member}, true));
  return view{.type = view::kind::items, .items = shared(run, std::move(pairs))};
}

value keys(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "keys", {});
  return view{.type = view::kind::keys, .items = items_of(run, self)};
}

value values(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "values", {});
  std::vector<value> result;
  for (const auto& item : self.members()->items()) result.push_back(item.second);
  return view{.type = view::kind::values, .items = shared(run, std::move(result))};
}

value itself(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "copy", {});
  return self;
}

const std::vector<value>& items_in(const value& self) {
  return self.items() ? self.items()->items : self.viewed()->items->items;
}

value index_of(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "index", {"value", "start", "stop"});
  refuse_named(run, given, "index");
  const auto& items = items_in(self);
  auto size = static_cast<std::int64_t>(items.size());
  auto placed = [&](std::int64_t index) { return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size); };
  for (auto i = placed(bound.integer(1, 0)), end = placed(bound.integer(2, size)); i < end; ++i) {
    if (equal(run, items[static_cast<std::size_t>(i)], bound.at(0))) return i;
  }
  bound.at(0);
  run.fail("'index' finds no such item");
}

value count_items(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "count", {"value"});
  refuse_named(run, given, "count");
  std::int64_t count = 0;
  for (const auto& item : items_in(self)) count += equal(run, item, bound.at(0));
  bound.at(0);
  return count;
}

value cycle(renderer& run, const value& self, const arguments& given) {
  if (given.positional.empty() || !given.named.empty()) run.fail("'cycle' needs something to cycle through");
  return given.positional[self.loop()->index % given.positional.size()];
}

value has_changed(renderer& run, const value& self, const arguments& given) {
  refuse_named(run, given, "changed");
  auto now = run.make_list(given.positional, true);
  auto& previous = run.last_changed(self.loop()->number);
  if (!previous.is_undefined() && equal(run, previous, now)) return false;
  previous = now;
  return true;
}

value take_next(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "next", {});
  auto& cycles = *std::get<cycler*>(self.variant());
  return cycles.items[std::exchange(cycles.next, (cycles.next + 1) % cycles.items.size())];
}

value reset(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "reset", {});
  std::get<cycler*>(self.variant())->next = 0;
  return none{};
}

value is_whole(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "is_integer", {});
  return std::isfinite(*self.number()) && std::floor(*self.number()) == *self.number();
}

value bit_length(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "bit_length", {});
  auto number = *self.integer();
  return static_cast<std::int64_t>(
      std::bit_width(number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number)));
}

constexpr std::array<named_method, 5> dictionary_methods{{
    {"copy", itself},
    {"get", get},
    {"items", items},
    {"keys", keys},
    {"values", values},
}};

constexpr std::array<named_method, 3> list_methods{{
    {"copy", itself},
    {"count", count_items},
    {"index", index_of},
}};

constexpr std::array<named_method, 2> loop_methods{{{"changed", has_changed}, {"cycle", cycle}}};
constexpr std::array<named_method, 2> cycler_methods{{{"next", take_next}, {"reset", reset}}};
constexpr std::array<named_method, 1> real_methods{{{"is_integer", is_whole}}};
constexpr std::array<named_method, 1> integer_methods{{{"bit_length", bit_length}}};

std::span<const named_method> methods_of(const value& object) {
  if (object.members()) return dictionary_methods;
  if (auto* list = object.items()) return list->is_tuple ? std::span(list_methods).subspan(1) : std::span(list_methods);
  if (auto* view = object.viewed(); view && view->type == view::kind::range) return std::span(list_methods).subspan(1);
  if (object.loop()) return loop_methods;
  if (object.is<cycler*>()) return cycler_methods;
  if (object.is<double>()) return real_methods;
  if (object.integer()) return integer_methods;
  return {};
}

}  // namespace

const named_method* find_method(const value& object, std::string_view name) {
  if (object.text()) return find_text_method(name);
  auto methods = methods_of(object);
  auto found = std::ranges::find(methods, name, &named_method::name);
  return found == methods.end() ? nullptr : &*found;
}

}  // namespace cogen::text::jinja
