#include "formats/text/vocabulary.hpp"

#include <bit>
#include <functional>

namespace cogen::text {

vocabulary::vocabulary(std::span<const std::string> spellings)
    : ids_(std::bit_ceil(2 * spellings.size() + 1), no_token) {
  for (const auto& spelling : spellings) {
    const auto id = static_cast<token>(spellings_.size());
    spellings_.push_back(spelling);
    if (spelling.empty()) continue;
    auto& place = ids_[place_of(spelling)];
    if (place == no_token) place = id;
  }
}

std::optional<token> vocabulary::find(std::string_view spelling) const {
  const auto id = ids_[place_of(spelling)];
  return id == no_token ? std::nullopt : std::optional(id);
}

std::size_t vocabulary::place_of(std::string_view spelling) const noexcept {
  const auto is_there = [&](std::size_t place) {
    return ids_[place] == no_token || spellings_[static_cast<std::size_t>(ids_[place])] == spelling;
  };
  auto place = std::hash<std::string_view>()(spelling) & (ids_.size() - 1);
  while (!is_there(place)) place = (place + 1) & (ids_.size() - 1);
  return place;
}

}  // namespace cogen::text
