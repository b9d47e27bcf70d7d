#include "formats/text/jinja/walks.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cogen::text::jinja {
namespace {

/// What an item of a dictionary takes beside its key and its value.
constexpr std::size_t place_bytes = 96;

bool are_equal(renderer& run, const traced_text& left, const traced_text& right) {
  if (left.size() != right.size()) return false;
  run.look_at(left.size());
  return left.bytes() == right.bytes();
}

bool are_equal(renderer& run, const list& left, const list& right) {
  return left.is_tuple == right.is_tuple &&
         std::ranges::equal(left.items, right.items, [&](auto& a, auto& b) { return equal(run, a, b); });
}

bool are_equal(renderer& run, const dictionary& left, const dictionary& right) {
  return left.size() == right.size() && std::ranges::all_of(left.items(), [&](const auto& item) {
           auto* other = find(run, right, item.first);
           return other && equal(run, item.second, *other);
         });
}

/// As sets of keys or items are, or sequences of numbers; values are equal to themselves alone.
bool are_equal(renderer& run, const view& left, const view& right) {
  if (left.type != right.type) return false;
  if (left.items == right.items) return true;
  if (left.type == view::kind::values || left.items->items.size() != right.items->items.size()) return false;
  if (left.type == view::kind::range) return are_equal(run, *left.items, *right.items);
  dictionary counterparts;
  auto pair_of = [&](const value& item) {
    return left.type == view::kind::keys ? std::pair(item, value(true))
                                         : std::pair(item.items()->items[0], item.items()->items[1]);
  };
  for (const auto& item : right.items->items) {
    auto [key, member] = pair_of(item);
    insert(run, counterparts, key, member);
  }
  return std::ranges::all_of(left.items->items, [&](const auto& item) {
    auto [key, member] = pair_of(item);
    auto* other = find(run, counterparts, key);
    return other && equal(run, *other, member);
  });
}

int sign(auto left, auto right) { return left < right ? -1 : left > right ? 1 : 0; }

int order_lists(renderer& run, const list& left, const list& right) {
  auto shared = std::min(left.items.size(), right.items.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (!equal(run, left.items[i], right.items[i])) return order(run, left.items[i], right.items[i]);
  }
  return sign(left.items.size(), right.items.size());
}

std::string spelled_number(double number) {
  constexpr double most = 1e15;  // all smaller ones with a whole value are integers of 64 bits, too
  if (number >= -most && number <= most && static_cast<double>(static_cast<std::int64_t>(number)) == number) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  std::array<char, 40> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

/// Whether the value can be a key, whose spelling it appends.
bool append_key(renderer& run, std::string& output, const value& key) {
  run.visit(1);
  if (auto* text = key.text()) {
    run.look_at(text->size());
    output += key_of_text(text->bytes());
  } else if (auto integer = key.integer()) {
    output += std::to_string(*integer);
  } else if (auto number = key.number()) {
    output += spelled_number(*number);
  } else if (auto* tuple = key.items(); tuple && tuple->is_tuple) {
    output += '(';
    for (const auto& item : tuple->items) {
      if (!append_key(run, output, item)) return false;
      output += ',';
    }
    output += ')';
  } else if (key.is_undefined() || key.is_none()) {
    output += key.is_none() ? "none" : "undefined";
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool equal(renderer& run, const value& left, const value& right) {
  run.visit(1);
  if (auto a = left.integer(), b = right.integer(); a && b) return *a == *b;
  if (auto a = left.number(), b = right.number(); a && b) return *a == *b;
  if (auto *a = left.text(), *b = right.text(); a && b) return are_equal(run, *a, *b);
  if (auto *a = left.items(), *b = right.items(); a && b) return are_equal(run, *a, *b);
  if (auto *a = left.members(), *b = right.members(); a && b) return are_equal(run, *a, *b);
  if (left.space() || right.space()) return left.space() == right.space();
  if (left.function() || right.function()) return left.function() == right.function();
  if (auto *a = left.viewed(), *b = right.viewed(); a && b) return are_equal(run, *a, *b);
  if (auto *a = left.generated(), *b = right.generated(); a && b) return a == b;
  return (left.is_none() && right.is_none()) || (left.is_undefined() && right.is_undefined());
}

int order(renderer& run, const value& left, const value& right) {
  run.visit(1);
  if (auto a = left.integer(), b = right.integer(); a && b) return sign(*a, *b);
  if (auto a = left.number(), b = right.number(); a && b) return sign(*a, *b);
  if (auto *a = left.text(), *b = right.text(); a && b) {
    run.look_at(std::min(a->size(), b->size()));
    return a->bytes().compare(b->bytes());
  }
  if (auto *a = left.items(), *b = right.items(); a && b && a->is_tuple == b->is_tuple) return order_lists(run, *a, *b);
  run.fail(kind_of(left) + " and " + kind_of(right) + " have no order");
}

bool is_trusted(renderer& run, const value& object) {
  run.visit(1);
  auto is_it = [&](const value& item) { return is_trusted(run, item); };
  if (auto* text = object.text()) return text->is_trusted();
  if (auto* list = object.items()) return std::ranges::all_of(list->items, is_it);
  if (auto* view = object.viewed()) return std::ranges::all_of(view->items->items, is_it);
  auto* members = object.members();
  return !members || std::ranges::all_of(members->items(),
                                         [&](const auto& item) { return is_it(item.first) && is_it(item.second); });
}

std::optional<std::string> key_of(renderer& run, const value& object) {
  std::string spelled;
  return append_key(run, spelled, object) ? std::optional(std::move(spelled)) : std::nullopt;
}

const value* find(renderer& run, const dictionary& members, const value& key) {
  auto spelled = key_of(run, key);
  return spelled ? members.find_spelled(*spelled) : nullptr;
}

std::string required_key(renderer& run, const value& key) {
  auto spelled = key_of(run, key);
  if (!spelled) run.fail(kind_of(key) + " cannot be the key of a dictionary");
  return *std::move(spelled);
}

void insert(renderer& run, dictionary& members, value key, value member) {
  auto spelled = required_key(run, key);
  run.charge(sizeof(dictionary::item) + place_bytes + spelled.size());
  members.insert(std::move(spelled), std::move(key), std::move(member));
}

}  // namespace cogen::text::jinja
