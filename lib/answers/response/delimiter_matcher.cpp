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

void delimiter_matcher::advance(candidate current, char byte) {
  const auto& parts = *delimiters_[current.found.which];
  for (; current.part < parts.size(); ++current.part, current.offset = 0) {
    const auto& part = parts[current.part];
    if (part.type == part_kind::text) {
      if (part.text[current.offset] != byte) return;
      ++current.found.length;
      if (++current.offset == part.text.size()) ++current.part, current.offset = 0;
      return keep(current);
    }
    if (part.type == part_kind::space) {
      if (!is_space(byte)) continue;
      ++current.found.length;
      return keep(current);
    }
    auto& captured = part.type == part_kind::name ? current.found.name : current.found.id;
    if (is_name_byte(byte)) {
      if (current.offset++ == 0) captured = {.begin = current.found.length};
      ++current.found.length;
      if (++captured.length <= max_name_bytes) keep(current);
      return;
    }
    if (current.offset == 0) return;
  }
  complete(current, true);
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

void delimiter_matcher::complete(candidate reached, bool ends_early) {
  if (found_) return;
  found_ = reached.found;
  found_->ends_early = ends_early;
}

}  // namespace cogen::response
