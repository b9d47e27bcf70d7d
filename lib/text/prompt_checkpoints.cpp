#include "text/prompt_checkpoints.hpp"

#include <algorithm>
#include <utility>

namespace cogen::text {

std::vector<int> prompt_checkpoints(std::span<const token> prompt, std::span<const token> ends, int before) {
  std::vector<int> lengths;
  const auto last = prompt.empty() ? 0 : prompt.size() - 1;
  for (std::size_t i = 0; i < last; ++i)
    if (std::ranges::find(ends, prompt[i]) != ends.end()) lengths.push_back(before + static_cast<int>(i) + 1);
  if (lengths.size() > 3) lengths.erase(lengths.begin() + 1, lengths.end() - 2);
  const bool ends_with_message = !lengths.empty() && std::cmp_equal(lengths.back(), last);
  if (before == 0 && last > 0 && !ends_with_message) lengths.push_back(static_cast<int>(last));
  return lengths;
}

}  // namespace cogen::text
