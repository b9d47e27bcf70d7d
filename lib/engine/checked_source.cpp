#include "engine/checked_source.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace cogen::detail {

scheduler::source_tokens checked_source(std::vector<token> tokens, const engine_parts& parts, int vocabulary) {
  if (!parts.sources && tokens.empty()) return nullptr;
  if (!parts.sources)
    throw std::invalid_argument("there is a source, and this model has no encoder that could read it");
  if (tokens.empty()) throw std::invalid_argument("the source is empty: this model's encoder reads at least one token");
  const auto longest = static_cast<std::size_t>(parts.sources->longest);
  if (tokens.size() > longest)
    throw std::invalid_argument(
        fmt::format("the source has {} tokens; the encoder reads {} at most", tokens.size(), longest));
  for (const token id : tokens)
    if (id < 0 || id >= vocabulary)
      throw std::invalid_argument(
          fmt::format("the source holds token {}; the vocabulary ends at {}", id, vocabulary - 1));
  return std::make_shared<const std::vector<token>>(std::move(tokens));
}

}  // namespace cogen::detail
