// What values are made of: items to visit, members by name and by index.
#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/statements.hpp"
#include "formats/text/jinja/walks.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cogen::text::jinja {
namespace {

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

value member_of_loop(const loop_state& loop, std::string_view name) {
  auto size = static_cast<std::int64_t>(loop.items->items.size());
  auto index = std::min(static_cast<std::int64_t>(loop.index), size - 1);
  auto depth = static_cast<std::int64_t>(loop.depth);
  auto neighbor = [&](std::int64_t position) {
    return position >= 0 && position < size ? loop.items->items[static_cast<std::size_t>(position)] : value();
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
  if (name == "depth") return depth + 1;
  if (name == "depth0") return depth;
  return {};
}

value member_of_macro(renderer& run, const macro& function, std::string_view name) {
  const auto& content = *function.statement;
  if (name == "name") return trusted_text(content.name);
  if (name == "caller") return content.takes_caller;
  if (name == "catch_kwargs") return content.takes_kwargs;
  if (name == "catch_varargs") return content.takes_varargs;
  if (name != "arguments") return {};
  std::vector<value> names;
  for (const auto& parameter : content.parameters) names.push_back(run.make_text(parameter.name, true));
  return run.make_list(std::move(names), true);
}

value named_member(renderer& run, const value& object, const std::string& name) {
  if (auto* loop = object.loop()) return member_of_loop(*loop, name);
  if (auto* function = object.function()) return member_of_macro(run, *function, name);
  if (auto* space = object.space()) {
    auto found = space->members.find(name);
    return found == space->members.end() ? value() : found->second;
  }
  if (auto* list = object.items(); list && list->is_group) {
    if (name == "grouper") return list->items[0];
    if (name == "list") return list->items[1];
  }
  auto* cycles = std::get_if<cycler*>(&object.variant());
  return cycles && name == "current" ? (*cycles)->items[(*cycles)->next] : value();
}

value method_of(const value& object, std::string_view name) {
  auto* method = find_method(object, name);
  return method ? value(bound_method{method, std::make_shared<const value>(object)}) : value();
}

shared_list rest_of(renderer& run, generator& source) {
  if (source.next == 0) {
    source.next = source.items->items.size();
    return source.items;
  }
  run.charge((source.items->items.size() - source.next) * sizeof(value));
  std::vector<value> rest(source.items->items.begin() + static_cast<std::ptrdiff_t>(source.next),
                          source.items->items.end());
  source.next = source.items->items.size();
  return run.share_list(std::move(rest));
}

}  // namespace

std::vector<value> characters_of(renderer& run, const traced_text& text) {
  run.look_at(text.size());
  std::vector<value> characters;
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = begin + first_character(std::string_view(text.bytes()).substr(begin)).length;
    characters.push_back(run.make_text(text.part(begin, end).as_plain()));
    begin = end;
  }
  return characters;
}

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

shared_list items_of(renderer& run, const value& object) {
  if (auto items = object.shared_items()) return items;
  if (auto* source = object.generated()) return rest_of(run, *source);
  if (auto* view = object.viewed()) return view->items;
  if (object.is_undefined()) return run.share_list({});
  if (auto* text = object.text()) return run.share_list(characters_of(run, *text));
  if (auto* members = object.members()) {
    run.charge(members->size() * sizeof(value));
    std::vector<value> keys;
    for (const auto& item : members->items()) keys.push_back(item.first);
    return run.share_list(std::move(keys));
  }
  run.fail(kind_of(object) + " has no items to visit");
}

shared_list visited_items(renderer& run, const value& object) {
  auto items = items_of(run, object);
  run.visit(items->items.size());
  return items;
}

value member_of(renderer& run, const value& object, const value& key) {
  if (object.is_undefined()) run.fail(kind_of(object) + ", has no members");
  if (auto* members = object.members()) {
    auto* found = find(run, *members, key);
    return found ? *found : value();
  }
  if (auto index = key.integer()) {
    if (auto* items = object.items()) return at_index(items->items, *index);
    if (auto* view = object.viewed(); view && view->type == view::kind::range)
      return at_index(view->items->items, *index);
    if (auto* text = object.text()) {
      const auto characters = static_cast<std::uint64_t>(*index);  // huge if it counts from the end
      run.look_at(characters < text->size() / 4 ? 4 * (characters + 1) : text->size());
      return character_at(*text, *index);
    }
  }
  auto* name = key.text();
  run.look_at(key);
  return name ? named_member(run, object, name->bytes()) : value();
}

value attribute_of(renderer& run, const value& object, const value& name) {
  if (auto method = method_of(object, name.text()->bytes()); !method.is_undefined()) return method;
  return member_of(run, object, name);
}

value item_of(renderer& run, const value& object, const value& key) {
  auto found = member_of(run, object, key);
  return found.is_undefined() && key.text() ? method_of(object, key.text()->bytes()) : found;
}

value call_value(renderer& run, const value& callee, std::string_view name, const arguments& given) {
  if (auto* function = callee.function()) return call_macro(run, *function, given);
  if (auto* loop = callee.loop()) return call_loop(run, *loop, given);
  if (auto* method = std::get_if<bound_method>(&callee.variant()))
    return method->method->call(run, *method->object, given);
  if (auto* function = std::get_if<const named_function*>(&callee.variant())) return (*function)->call(run, given);
  if (auto* separator = std::get_if<joiner*>(&callee.variant())) {
    bound_arguments none(run, given, "joiner", {});
    return std::exchange((*separator)->was_called, true) ? run.make_text((*separator)->separator) : trusted_text("");
  }
  if (callee.is_undefined() && !name.empty()) run.fail("'" + std::string(name) + "' is undefined and cannot be called");
  auto subject = name.empty() ? kind_of(callee) : "'" + std::string(name) + "' is " + kind_of(callee);
  run.fail(subject + (name.empty() ? " cannot be called" : " and cannot be called"));
}

value call_method(renderer& run, const value& object, std::string_view name, const arguments& given) {
  if (auto* method = find_method(object, name)) return method->call(run, object, given);
  auto member = member_of(run, object, trusted_text(std::string(name)));
  if (member.is_undefined()) run.fail(kind_of(object) + " has no method '" + std::string(name) + "'");
  return call_value(run, member, name, given);
}

}  // namespace cogen::text::jinja
