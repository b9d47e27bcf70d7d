#include <cogen/detail/cache/slot_table.hpp>
#include <cogen/detail/cache/view.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::cache {
namespace {

std::size_t at_least_one(int slots) {
  if (slots < 1) throw std::invalid_argument("cache: " + std::to_string(slots) + " slots, at least 1 is needed");
  return static_cast<std::size_t>(slots);
}

}  // namespace

slot_table::slot_table(int slots) : lengths_(at_least_one(slots)), parents_(at_least_one(slots)) {}

std::size_t slot_table::index(int slot) const {
  if (slot < 0 || slot >= slots())
    throw std::out_of_range("cache: slot " + std::to_string(slot) + " does not exist, there are " +
                            std::to_string(slots()));
  return static_cast<std::size_t>(slot);
}

int slot_table::pinned(int slot) const {
  index(slot);
  int longest = 0;
  for (const slot_parent& parent : parents_)
    if (parent.slot == slot) longest = std::max(longest, parent.length);
  return longest;
}

void slot_table::check(const step& step) const {
  for (const step_row& row : step.rows()) index(row.slot);
}

void slot_table::advance(const step& step) {
  check(step);
  for (const step_row& row : step.rows()) lengths_[index(row.slot)] += row.count;
}

void slot_table::set_length(int slot, int length) {
  lengths_[index(slot)] = length;
  slot_parent& parent = parents_[index(slot)];
  if (length < parent.length) parent.length = length / block_tokens * block_tokens;
  if (parent.length == 0) parent = {};
}

void slot_table::set_parent(int slot, slot_parent parent) {
  parents_[index(slot)] = parent;
  lengths_[index(slot)] = parent.length;
}

}  // namespace cogen::cache
