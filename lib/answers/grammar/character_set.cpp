#include "answers/grammar/character_set.hpp"

#include <algorithm>

namespace cogen::grammar {
namespace {

constexpr char32_t first_surrogate = 0xD800, last_surrogate = 0xDFFF, last_character = 0x10FFFF;

}  // namespace

character_set::character_set(std::initializer_list<range> ranges) {
  for (const auto& each : ranges) add(each);
}

character_set character_set::full() { return {{0, first_surrogate - 1}, {last_surrogate + 1, last_character}}; }

void character_set::add(range added) {
  if (added.first < first_surrogate && added.last > last_surrogate) {
    add({added.first, first_surrogate - 1});
    return add({last_surrogate + 1, added.last});
  }
  if (added.first >= first_surrogate && added.first <= last_surrogate) added.first = last_surrogate + 1;
  if (added.last >= first_surrogate && added.last <= last_surrogate) added.last = first_surrogate - 1;
  if (added.first > added.last) return;
  std::vector<range> merged;
  for (const auto& each : ranges_) {
    if (each.last + 1 < added.first || added.last + 1 < each.first) {
      merged.push_back(each);
    } else {
      added = {std::min(added.first, each.first), std::max(added.last, each.last)};
    }
  }
  merged.push_back(added);
  std::ranges::sort(merged, {}, &range::first);
  ranges_ = std::move(merged);
}

void character_set::add(const character_set& added) {
  for (const auto& each : added.ranges_) add(each);
}

void character_set::remove(const character_set& removed) {
  auto kept = complement();
  kept.add(removed);
  *this = kept.complement();
}

character_set character_set::complement() const {
  character_set result;
  char32_t next = 0;
  for (const auto& each : ranges_) {
    if (each.first > next) result.add({next, each.first - 1});
    next = each.last + 1;
  }
  if (next <= last_character) result.add({next, last_character});
  return result;
}

bool character_set::contains(char32_t character) const noexcept {
  return std::ranges::any_of(
      ranges_, [&](const range& interval) { return interval.first <= character && character <= interval.last; });
}

}  // namespace cogen::grammar
