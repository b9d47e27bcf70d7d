#include "formats/text/prompt_checkpoints.hpp"

#include <algorithm>

namespace cogen::text {

std::vector<int> prompt_checkpoints(std::span<const token> prompt, std::span<const token> ends, int previous) {
  std::vector<int> lengths;
  for (std::size_t i = 0; i < prompt.size(); ++i)
    if (std::ranges::find(ends, prompt[i]) != ends.end()) lengths.push_back(previous + static_cast<int>(i) + 1);
  if (lengths.size() > 3) lengths.erase(lengths.begin() + 1, lengths.end() - 2);
  if (lengths.empty() && previous == 0 && prompt.size() > 1) lengths.push_back(static_cast<int>(prompt.size()) - 1);
  return lengths;
}

}  // namespace cogen::text
