#include "formats/text/merge_table.hpp"

#include "formats/text/mixed_key.hpp"

#include <algorithm>
#include <bit>

namespace cogen::text {
namespace {

constexpr std::uint64_t no_pair = ~std::uint64_t{0};

}  // namespace

merge_table::merge_table(std::size_t count) {
  auto places = std::bit_ceil(std::max<std::size_t>(16, 2 * count));
  entries_.assign(places, entry{no_pair, {}});
  shift_ = 64 - std::countr_zero(places);
}

std::uint64_t merge_table::pair_of(token left, token right) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

std::size_t merge_table::place_of(std::uint64_t pair) const noexcept {
  auto place = static_cast<std::size_t>(mixed_key(pair) >> shift_);
  while (entries_[place].pair != pair && entries_[place].pair != no_pair) place = (place + 1) & (entries_.size() - 1);
  return place;
}

void merge_table::insert(token left, token right, merge rule) {
  auto pair = pair_of(left, right);
  entries_[place_of(pair)] = {pair, rule};
}

const merge* merge_table::find(token left, token right) const noexcept {
  const auto& found = entries_[place_of(pair_of(left, right))];
  return found.pair == no_pair ? nullptr : &found.rule;
}

}  // namespace cogen::text
