#pragma once

#include "reader.hpp"

#include <set>

namespace curves {

/// How many different ones there are among the runs of four tokens, as a share of all of them. 1 where there is none.
inline double distinct_fours(tokens ids) {
  std::set<std::vector<cogen::token>> seen;
  std::size_t all = 0;
  for (; all + 4 <= ids.size(); ++all) {
    const auto four = ids.subspan(all, 4);
    seen.emplace(four.begin(), four.end());
  }
  return all == 0 ? 1 : static_cast<double>(seen.size()) / static_cast<double>(all);
}

}  // namespace curves
