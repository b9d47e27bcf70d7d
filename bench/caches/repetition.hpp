#pragma once

#include "reader.hpp"

#include <set>

namespace curves {

/// How many different ones there are among the runs of four tokens, as a share of all of them. 1 where there is none.
inline double distinct_fours(tokens ids) {
  std::set<std::vector<cogen::token>> seen;
  std::size_t count = 0;
  for (; count + 4 <= ids.size(); ++count) {
    const auto four = ids.subspan(count, 4);
    seen.emplace(four.begin(), four.end());
  }
  return count == 0 ? 1 : static_cast<double>(seen.size()) / static_cast<double>(count);
}

}  // namespace curves
