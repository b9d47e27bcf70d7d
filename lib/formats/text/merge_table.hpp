#pragma once

#include <cogen/token.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cogen::text {

/// What two neighboring tokens become, and how urgently (0 first).
struct merge {
  std::uint32_t rank;
  token result;
};

/// The merges of a vocabulary, by pair. Immutable once filled.
class merge_table {
 public:
  /// Makes room for that many merges.
  explicit merge_table(std::size_t count);

  /// A pair given again takes the later rank and result.
  void insert(token left, token right, merge rule);

  /// nullptr if the two never merge.
  const merge* find(token left, token right) const noexcept;

 private:
  struct entry {
    std::uint64_t pair;
    merge rule;
  };
  static std::uint64_t pair_of(token left, token right) noexcept;
  std::size_t place_of(std::uint64_t pair) const noexcept;

  std::vector<entry> entries_;
  int shift_;
};

}  // namespace cogen::text
