#include "formats/text/jinja/value.hpp"

#include <algorithm>

namespace cogen::text::jinja {
namespace {

template <typename T>
const T* shared(const auto& variant) {
  auto* found = std::get_if<std::shared_ptr<const T>>(&variant);
  return found ? found->get() : nullptr;
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
  for (auto end : more.switches_) {
    append(std::string_view(more.bytes_).substr(begin, end - begin), trusted);
    begin = end;
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
  for (auto position = first; position != last; ++position) result.switches_.push_back(*position - begin);
  result.is_markup_ = is_markup_;
  return result;
}

std::vector<text_segment> traced_text::segments() const {
  std::vector<text_segment> result;
  auto trusted = first_is_trusted_;
  std::size_t begin = 0;
  for (auto end : switches_) {
    result.push_back({bytes_.substr(begin, end - begin), trusted});
    begin = end;
    trusted = !trusted;
  }
  if (begin < bytes_.size()) result.push_back({bytes_.substr(begin), trusted});
  return result;
}

const value* dictionary::find(std::string_view text) const { return find_spelled(key_of_text(text)); }

const value* dictionary::find_spelled(const std::string& key) const {
  auto found = places_.find(key);
  return found == places_.end() ? nullptr : &items_[found->second].second;
}

void dictionary::insert(std::string spelled, value key, value member) {
  depth_ = std::max({depth_, depth_of(key) + 1, depth_of(member) + 1});
  auto [place, is_new] = places_.try_emplace(std::move(spelled), items_.size());
  if (is_new) {
    items_.emplace_back(std::move(key), std::move(member));
  } else {
    items_[place->second].second = std::move(member);
  }
}

const traced_text* value::text() const noexcept { return shared<traced_text>(variant_); }
const list* value::items() const noexcept { return shared<list>(variant_); }
const dictionary* value::members() const noexcept { return shared<dictionary>(variant_); }
const loop_state* value::loop() const noexcept { return shared<loop_state>(variant_); }
const macro* value::function() const noexcept { return shared<macro>(variant_); }

name_space* value::space() const noexcept {
  auto* found = std::get_if<name_space*>(&variant_);
  return found ? *found : nullptr;
}

std::optional<std::int64_t> value::integer() const noexcept {
  if (auto* truth = std::get_if<bool>(&variant_)) return *truth;
  auto* number = std::get_if<std::int64_t>(&variant_);
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<double> value::number() const noexcept {
  if (auto whole = integer()) return static_cast<double>(*whole);
  auto* number = std::get_if<double>(&variant_);
  return number ? std::optional(*number) : std::nullopt;
}

shared_list value::shared_items() const {
  auto* found = std::get_if<shared_list>(&variant_);
  return found ? *found : nullptr;
}

generator* value::generated() const noexcept {
  auto* found = std::get_if<std::shared_ptr<generator>>(&variant_);
  return found ? found->get() : nullptr;
}

const view* value::viewed() const noexcept { return shared<view>(variant_); }

bool is_range(const value& object) noexcept { return object.viewed() && object.viewed()->type == view::kind::range; }

bool is_true(const value& object) noexcept {
  if (object.is_undefined() || object.is_none()) return false;
  if (auto number = object.number()) return *number != 0;
  if (auto* text = object.text()) return !text->empty();
  if (auto* list = object.items()) return !list->items.empty();
  if (auto* members = object.members()) return members->size() > 0;
  if (auto* view = object.viewed()) return !view->items->items.empty();
  return true;
}

std::size_t depth_of(const value& object) noexcept {
  if (auto* list = object.items()) return list->depth;
  if (auto* members = object.members()) return members->depth();
  if (auto* given = object.generated()) return given->items->depth;
  if (auto* view = object.viewed()) return view->items->depth;
  if (auto* loop = object.loop()) return loop->items->depth + 1;
  if (auto* method = std::get_if<bound_method>(&object.variant())) return depth_of(*method->object) + 1;
  return 0;
}

std::string kind_of(const value& object) {
  if (auto* missing = std::get_if<undefined>(&object.variant())) {
    return missing->name ? "'" + *missing->name + "', which is undefined" : "an undefined value";
  }
  if (object.is_none()) return "none";
  if (object.is<bool>()) return "a truth value";
  if (object.integer()) return "an integer";
  if (object.number()) return "a number";
  if (object.text()) return "a text";
  if (auto* list = object.items()) return list->is_tuple ? "a tuple" : "a list";
  if (object.members()) return "a dictionary";
  if (object.space()) return "a namespace";
  if (object.loop()) return "the variable 'loop'";
  if (object.generated()) return "a generator";
  if (auto* view = object.viewed()) return view->type == view::kind::range ? "a range" : "a view of a dictionary";
  if (object.is<cycler*>()) return "a cycler";
  if (object.is<joiner*>()) return "a joiner";
  return object.function() ? "a macro" : "a function";
}

list make_list(std::vector<value> items, bool is_tuple) {
  std::size_t depth = 0;
  for (const auto& item : items) depth = std::max(depth, depth_of(item));
  return {.items = std::move(items), .is_tuple = is_tuple, .depth = depth + 1};
}

value trusted_text(std::string bytes) { return traced_text(std::move(bytes), true); }

std::string key_of_text(std::string_view text) { return '"' + std::to_string(text.size()) + ':' + std::string(text); }

}  // namespace cogen::text::jinja
