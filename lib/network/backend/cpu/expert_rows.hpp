#pragma once

#include "network/backend/cpu/activations.hpp"

#include <cstdint>
#include <span>

namespace cogen::cpu {

/// The rows that each expert is given, packed: those of one expert follow those of the one before it. In memory of an
/// arena.
class expert_rows {
 public:
  /// shares [rows, experts] has up to `most` in a row that are not 0: these experts get the row.
  expert_rows(arena& space, const activations& shares, std::int64_t most);

  std::int64_t count() const { return first_.back(); }

  /// Of all packed rows, those of an expert.
  activations rows_of(const activations& packed, std::int64_t expert) const;

  /// Calls visit(PLACE, SHARE) for a row's places among the packed ones, in the experts' order.
  template <class Each>
  void for_each_of(std::int64_t row, const Each& visit) const {
    const auto index = static_cast<std::size_t>(row);
    for (std::int32_t choice = 0; choice < counts_[index]; ++choice) {
      const auto place = places_[index * most_ + static_cast<std::size_t>(choice)];
      visit(std::int64_t{place}, shares_.data[place]);
    }
  }

 private:
  std::size_t most_;
  std::span<std::int32_t> first_;   // [experts + 1], places
  std::span<std::int32_t> counts_;  // [rows]
  std::span<std::int32_t> places_;  // [rows, most]
  activations shares_;              // [1, rows * most], of each place
};

}  // namespace cogen::cpu
