#include "answers/response/delimiter_matcher.hpp"

#include <algorithm>
#include <utility>

namespace cogen::response {

using part_kind = delimiter_part::kind;

void delimiter_matcher::watch(std::vector<const delimiter*> delimiters) {
  delimiters_ = std::move(delimiters);
  candidates_.clear();
}

std::optional<delimiter_match> delimiter_matcher::step(char byte) {
  previous_.swap(candidates_);
  candidates_.clear();
  found_.reset();
  for (const auto& each : previous_) advance(each, byte);
  for (std::size_t which = 0; which < delimiters_.size(); ++which)
    if (!delimiters_[which]->empty()) advance({.found = {.which = which}}, byte);
  return found_;
}

void delimiter_matcher::advance(candidate from, char byte) {
  const auto& parts = *delimiters_[from.found.which];
  for (; from.part < parts.size(); ++from.part, from.offset = 0) {
    const auto& part = parts[from.part];
    if (part.type == part_kind::text) {
      if (part.text[from.offset] != byte) return;
      ++from.found.length;
      if (++from.offset == part.text.size()) ++from.part, from.offset = 0;
      return keep(from);
    }
    if (part.type == part_kind::space) {
      if (!is_space(byte)) continue;
      ++from.found.length;
      return keep(from);
    }
    auto& captured = part.type == part_kind::name ? from.found.name : from.found.id;
    if (is_name_byte(byte)) {
      if (from.offset++ == 0) captured = {.from = from.found.length};
      ++from.found.length;
      if (++captured.length <= max_name_bytes) keep(from);
      return;
    }
    if (from.offset == 0) return;
  }
  complete(from, true);
}

void delimiter_matcher::keep(const candidate& reached) {
  const auto& parts = *delimiters_[reached.found.which];
  if (reached.part == parts.size()) return complete(reached, false);
  const bool is_text = parts[reached.part].type == part_kind::text;
  const auto same_place = [&](const candidate& other) {
    return other.found.which == reached.found.which && other.part == reached.part &&
           (!is_text || other.offset == reached.offset);
  };
  if (std::ranges::none_of(candidates_, same_place)) candidates_.push_back(reached);
}

void delimiter_matcher::complete(candidate reached, bool before) {
  if (found_) return;
  found_ = reached.found;
  found_->before = before;
}

}  // namespace cogen::response
