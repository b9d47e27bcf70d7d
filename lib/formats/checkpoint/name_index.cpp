#include "formats/checkpoint/name_index.hpp"

#include <algorithm>
#include <numeric>

namespace cogen::load {

name_index::name_index(std::vector<std::string_view> names) : positions_(names.size()) {
  std::iota(positions_.begin(), positions_.end(), std::size_t{0});
  std::sort(positions_.begin(), positions_.end(), [&](auto a, auto b) { return names[a] < names[b]; });
  names_.reserve(names.size());
  for (const auto position : positions_) names_.push_back(names[position]);
}

std::optional<std::size_t> name_index::find(std::string_view name) const noexcept {
  const auto found = std::lower_bound(names_.begin(), names_.end(), name);
  if (found == names_.end() || *found != name) return std::nullopt;
  return positions_[static_cast<std::size_t>(found - names_.begin())];
}

std::optional<std::string_view> name_index::duplicate() const noexcept {
  const auto found = std::adjacent_find(names_.begin(), names_.end());
  if (found == names_.end()) return std::nullopt;
  return *found;
}

}  // namespace cogen::load
