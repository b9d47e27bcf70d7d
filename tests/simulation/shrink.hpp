#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cogen::simulation {

/// A part of `items`, in order, that still `fails`, and no longer does when any one item of it is left out: items are
/// left out in chunks, of half of them at first, for as long as that can be done (delta debugging: Zeller, Hildebrandt
/// 2002). `items` themselves must fail.
template <class Item, class Fails>
std::vector<Item> shrunk(std::vector<Item> items, Fails&& fails) {
  for (std::size_t chunk = (items.size() + 1) / 2; chunk > 0;) {
    bool shorter = false;
    for (std::size_t begin = 0; begin < items.size();) {
      auto rest = items;
      const auto first = rest.begin() + static_cast<std::ptrdiff_t>(begin);
      rest.erase(first, first + static_cast<std::ptrdiff_t>(std::min(chunk, items.size() - begin)));
      if (fails(rest)) {
        items = std::move(rest);
        shorter = true;
      } else {
        begin += chunk;
      }
    }
    if (!shorter || chunk > 1) chunk = chunk == 1 ? 0 : (chunk + 1) / 2;
  }
  return items;
}

}  // namespace cogen::simulation
