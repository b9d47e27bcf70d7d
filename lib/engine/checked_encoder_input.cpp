#include "engine/checked_encoder_input.hpp"

#include "network/model/text_encoder.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace cogen::detail {

scheduler::encoder_tokens checked_encoder_input(std::vector<token> tokens, const engine_parts& parts, int vocabulary) {
  if (parts.texts && !parts.texts->generates())
    throw std::invalid_argument("this model is an encoder: it embeds texts, and generates none");
  if (!parts.encoder_inputs && tokens.empty()) return nullptr;
  if (!parts.encoder_inputs)
    throw std::invalid_argument("there is an encoder input, and this model has no encoder that could read it");
  if (tokens.empty())
    throw std::invalid_argument("the encoder input is empty: this model's encoder reads at least one token");
  const auto longest = static_cast<std::size_t>(parts.encoder_inputs->longest);
  if (tokens.size() > longest)
    throw std::invalid_argument(
        fmt::format("the encoder input has {} tokens; the encoder reads {} at most", tokens.size(), longest));
  for (const token id : tokens)
    if (id < 0 || id >= vocabulary)
      throw std::invalid_argument(
          fmt::format("the encoder input holds token {}; the vocabulary ends at {}", id, vocabulary - 1));
  return std::make_shared<const std::vector<token>>(std::move(tokens));
}

}  // namespace cogen::detail
