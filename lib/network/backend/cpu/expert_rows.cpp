#include "network/backend/cpu/expert_rows.hpp"

#include <algorithm>

namespace cogen::cpu {

expert_rows::expert_rows(arena& space, const activations& shares, std::int64_t most)
    : most_(static_cast<std::size_t>(most)),
      first_(space.take_integers(shares.columns + 1)),
      counts_(space.take_integers(shares.rows)),
      places_(space.take_integers(shares.rows * most)),
      shares_(space.take(1, shares.rows * most)) {
  std::ranges::fill(counts_, 0);
  std::int32_t next = first_.front() = 0;
  for (std::int64_t expert = 0; expert < shares.columns; ++expert) {
    for (std::int64_t row = 0; row < shares.rows; ++row) {
      const float share = shares.row(row)[expert];
      if (share == 0) continue;
      const auto index = static_cast<std::size_t>(row);
      places_[index * most_ + static_cast<std::size_t>(counts_[index]++)] = next;
      shares_.data[next++] = share;
    }
    first_[static_cast<std::size_t>(expert) + 1] = next;
  }
}

activations expert_rows::rows_of(const activations& packed, std::int64_t expert) const {
  const auto first = first_[static_cast<std::size_t>(expert)];
  return {packed.row(first), first_[static_cast<std::size_t>(expert) + 1] - first, packed.columns, packed.stride};
}

}  // namespace cogen::cpu
