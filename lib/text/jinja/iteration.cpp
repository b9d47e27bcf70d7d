// What a value is made of: its items, its characters, its members.
#include "text/jinja/conversions.hpp"
#include "text/utf8.hpp"

namespace cogen::text::jinja {
namespace {

shared_list share(renderer& run, std::vector<value> items) { return run.make_list(std::move(items)).shared_items(); }

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

}  // namespace cogen::text::jinja
