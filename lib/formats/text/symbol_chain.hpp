#pragma once

#include "formats/text/merge_table.hpp"

#include <cogen/token.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cogen::text {

/// The symbols of one piece while they are merged. Kept between pieces to reuse its memory.
class symbol_chain {
 public:
  void clear() noexcept { symbols_.clear(); }
  void append(token symbol) { symbols_.push_back(symbol); }

  /// Merges until no two neighbors can be, and appends what is left.
  void merge_into(std::vector<token>& tokens, const merge_table& merges);

 private:
  using place = std::uint32_t;
  struct links {
    place previous;
    place next;
  };

  void merge_few(const merge_table& merges);
  void merge_many(const merge_table& merges);
  void link_all();
  void propose(place left, const merge_table& merges);
  bool apply_next(const merge_table& merges);
  void drop_merged();

  std::vector<token> symbols_;
  std::vector<links> links_;
  /// A heap of proposals, rank above place, the smallest on top. Some are out of date.
  std::vector<std::uint64_t> proposals_;
};

}  // namespace cogen::text
