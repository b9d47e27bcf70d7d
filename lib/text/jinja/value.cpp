#include "text/jinja/value.hpp"

#include <algorithm>

namespace cogen::text::jinja {
namespace {

std::size_t sum_of(std::size_t left, std::size_t right) noexcept {
  return std::min(left + right, std::size_t{1} << 62);
}

template <typename T>
const T* shared(const auto& variant) {
  auto* found = std::get_if<std::shared_ptr<const T>>(&variant);
  return found ? found->get() : nullptr;
}

std::optional<std::string> key_of(const list& tuple);

/// Equal for keys that Python holds to be equal; nothing for values that cannot be keys.
std::optional<std::string> key_of(const value& key) {
  if (auto* text = key.text()) return "\"" + text->bytes();
  if (auto integer = key.integer()) return std::to_string(*integer);
  if (auto number = key.number()) {
    auto whole = static_cast<std::int64_t>(*number >= -1e15 && *number <= 1e15 ? *number : 0.5);
    return static_cast<double>(whole) == *number ? std::to_string(whole) : std::to_string(*number);
  }
  if (auto* tuple = key.items(); tuple && tuple->is_tuple) return key_of(*tuple);
  if (key.is_undefined()) return "undefined";
  return key.is_none() ? std::optional<std::string>("none") : std::nullopt;
}

std::optional<std::string> key_of(const list& tuple) {
  std::string joined = "(";
  for (const auto& item : tuple.items) {
    auto key = key_of(item);
    if (!key) return std::nullopt;
    joined += std::to_string(key->size()) + ":" + *key;
  }
  return joined;
}

bool are_equal_lists(const list& left, const list& right) {
  return left.is_tuple == right.is_tuple &&
         std::equal(left.items.begin(), left.items.end(), right.items.begin(), right.items.end(), are_equal);
}

/// As sets of keys or items are, or sequences of numbers; values are equal to themselves alone.
bool are_equal_views(const view& left, const view& right) {
  if (left.type != right.type) return false;
  if (left.items == right.items) return true;
  if (left.type == view::kind::values || left.items->items.size() != right.items->items.size()) return false;
  if (left.type == view::kind::range) return are_equal_lists(*left.items, *right.items);
  dictionary others;
  auto pair_of = [&](const value& item) {
    return left.type == view::kind::keys ? std::pair(item, value(true))
                                         : std::pair(item.items()->items[0], item.items()->items[1]);
  };
  for (const auto& item : right.items->items) {
    auto [key, what] = pair_of(item);
    others.insert(key, what);
  }
  return std::ranges::all_of(left.items->items, [&](const auto& item) {
    auto [key, what] = pair_of(item);
    auto* other = others.find(key);
    return other && are_equal(*other, what);
  });
}

bool are_equal_dictionaries(const dictionary& left, const dictionary& right) {
  return left.size() == right.size() && std::all_of(left.items().begin(), left.items().end(), [&](const auto& item) {
           auto* other = right.find(item.first);
           return other && are_equal(item.second, *other);
         });
}

}  // namespace

traced_text traced_text::as_markup() const {
  auto markup = *this;
  markup.is_markup_ = true;
  return markup;
}

traced_text traced_text::as_plain() const {
  auto plain = *this;
  plain.is_markup_ = false;
  return plain;
}

void traced_text::append(const traced_text& more) {
  auto trusted = more.first_is_trusted_;
  std::size_t begin = 0;
  for (auto at : more.switches_) {
    append(std::string_view(more.bytes_).substr(begin, at - begin), trusted);
    begin = at;
    trusted = !trusted;
  }
  append(std::string_view(more.bytes_).substr(begin), trusted);
}

void traced_text::append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    first_is_trusted_ = trusted;
  } else if (ends_trusted() != trusted) {
    switches_.push_back(bytes_.size());
  }
  bytes_ += bytes;
}

traced_text traced_text::part(std::size_t begin, std::size_t end) const {
  auto first = std::upper_bound(switches_.begin(), switches_.end(), begin);
  auto last = std::lower_bound(first, switches_.end(), end);
  bool trusted = first_is_trusted_ == ((first - switches_.begin()) % 2 == 0);
  traced_text result(bytes_.substr(begin, end - begin), trusted);
  for (auto at = first; at != last; ++at) result.switches_.push_back(*at - begin);
  result.is_markup_ = is_markup_;
  return result;
}

std::vector<text_segment> traced_text::segments() const {
  std::vector<text_segment> result;
  auto trusted = first_is_trusted_;
  std::size_t begin = 0;
  for (auto at : switches_) {
    result.push_back({bytes_.substr(begin, at - begin), trusted});
    begin = at;
    trusted = !trusted;
  }
  if (begin < bytes_.size()) result.push_back({bytes_.substr(begin), trusted});
  return result;
}

const value* dictionary::find(const value& key) const {
  auto spelled = key_of(key);
  auto found = spelled ? places_.find(*spelled) : places_.end();
  return found == places_.end() ? nullptr : &items_[found->second].second;
}

const value* dictionary::find(std::string_view key) const {
  auto found = places_.find("\"" + std::string(key));
  return found == places_.end() ? nullptr : &items_[found->second].second;
}

void dictionary::insert(value key, value what) {
  depth_ = std::max(depth_, depth_of(what) + 1);
  nodes_ = sum_of(nodes_, sum_of(nodes_of(key), nodes_of(what)));
  auto [place, is_new] = places_.try_emplace(key_of(key).value_or(""), items_.size());
  if (is_new) {
    items_.emplace_back(std::move(key), std::move(what));
  } else {
    items_[place->second].second = std::move(what);
  }
}

const traced_text* value::text() const noexcept { return shared<traced_text>(what_); }
const list* value::items() const noexcept { return shared<list>(what_); }
const dictionary* value::members() const noexcept { return shared<dictionary>(what_); }
const loop_state* value::loop() const noexcept { return shared<loop_state>(what_); }
const macro* value::function() const noexcept { return shared<macro>(what_); }

name_space* value::space() const noexcept {
  auto* found = std::get_if<name_space*>(&what_);
  return found ? *found : nullptr;
}

std::optional<std::int64_t> value::integer() const noexcept {
  if (auto* truth = std::get_if<bool>(&what_)) return *truth;
  auto* number = std::get_if<std::int64_t>(&what_);
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<double> value::number() const noexcept {
  if (auto whole = integer()) return static_cast<double>(*whole);
  auto* number = std::get_if<double>(&what_);
  return number ? std::optional(*number) : std::nullopt;
}

shared_list value::shared_items() const {
  auto* found = std::get_if<shared_list>(&what_);
  return found ? *found : nullptr;
}

generator* value::generated() const noexcept {
  auto* found = std::get_if<std::shared_ptr<generator>>(&what_);
  return found ? found->get() : nullptr;
}

const view* value::viewed() const noexcept { return shared<view>(what_); }

bool is_range(const value& what) noexcept { return what.viewed() && what.viewed()->type == view::kind::range; }

bool is_key(const value& what) { return key_of(what).has_value(); }

bool is_true(const value& what) noexcept {
  if (what.is_undefined() || what.is_none()) return false;
  if (auto number = what.number()) return *number != 0;
  if (auto* text = what.text()) return !text->empty();
  if (auto* list = what.items()) return !list->items.empty();
  if (auto* members = what.members()) return members->size() > 0;
  if (auto* view = what.viewed()) return !view->items->items.empty();
  return true;
}

std::size_t depth_of(const value& what) noexcept {
  if (auto* list = what.items()) return list->depth;
  if (auto* members = what.members()) return members->depth();
  if (auto* given = what.generated()) return given->items->depth;
  if (auto* view = what.viewed()) return view->items->depth;
  if (auto* loop = what.loop()) return loop->items->depth + 1;
  if (auto* method = std::get_if<bound_method>(&what.variant())) return depth_of(*method->object) + 1;
  return 0;
}

std::size_t nodes_of(const value& what) noexcept {
  if (auto* list = what.items()) return list->nodes;
  if (auto* members = what.members()) return members->nodes();
  if (auto* view = what.viewed()) return view->items->nodes;
  if (auto* text = what.text()) return 1 + text->size() / 16;
  return 1;
}

std::string kind_of(const value& what) {
  if (auto* missing = std::get_if<undefined>(&what.variant())) {
    return missing->name ? "'" + *missing->name + "', which is undefined" : "an undefined value";
  }
  if (what.is_none()) return "none";
  if (what.is<bool>()) return "a truth value";
  if (what.integer()) return "an integer";
  if (what.number()) return "a number";
  if (what.text()) return "a text";
  if (auto* list = what.items()) return list->is_tuple ? "a tuple" : "a list";
  if (what.members()) return "a dictionary";
  if (what.space()) return "a namespace";
  if (what.loop()) return "the variable 'loop'";
  if (what.generated()) return "a generator";
  if (auto* view = what.viewed()) return view->type == view::kind::range ? "a range" : "a view of a dictionary";
  if (what.is<cycler*>()) return "a cycler";
  if (what.is<joiner*>()) return "a joiner";
  return what.function() ? "a macro" : "a function";
}

bool are_equal(const value& left, const value& right) {
  if (auto a = left.integer(), b = right.integer(); a && b) return *a == *b;
  if (auto a = left.number(), b = right.number(); a && b) return *a == *b;
  if (auto *a = left.text(), *b = right.text(); a && b) return a->bytes() == b->bytes();
  if (auto *a = left.items(), *b = right.items(); a && b) return are_equal_lists(*a, *b);
  if (auto *a = left.members(), *b = right.members(); a && b) return are_equal_dictionaries(*a, *b);
  if (left.space() || right.space()) return left.space() == right.space();
  if (left.function() || right.function()) return left.function() == right.function();
  if (auto *a = left.viewed(), *b = right.viewed(); a && b) return are_equal_views(*a, *b);
  if (auto *a = left.generated(), *b = right.generated(); a && b) return a == b;
  return (left.is_none() && right.is_none()) || (left.is_undefined() && right.is_undefined());
}

bool is_trusted(const value& what) {
  if (auto* text = what.text()) return text->is_trusted();
  if (auto* list = what.items()) return std::all_of(list->items.begin(), list->items.end(), is_trusted);
  if (auto* members = what.members()) {
    return std::all_of(members->items().begin(), members->items().end(),
                       [](const auto& item) { return is_trusted(item.first) && is_trusted(item.second); });
  }
  if (auto* view = what.viewed()) return std::all_of(view->items->items.begin(), view->items->items.end(), is_trusted);
  return true;
}

list make_list(std::vector<value> items, bool is_tuple) {
  std::size_t depth = 0;
  std::size_t nodes = 1;
  for (const auto& item : items) {
    depth = std::max(depth, depth_of(item));
    nodes = sum_of(nodes, nodes_of(item));
  }
  return {.items = std::move(items), .is_tuple = is_tuple, .depth = depth + 1, .nodes = nodes};
}

value trusted_text(std::string bytes) { return traced_text(std::move(bytes), true); }

}  // namespace cogen::text::jinja
