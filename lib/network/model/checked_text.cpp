#include "network/model/checked_text.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace cogen::nn {

void check_in_vocabulary(std::span<const token> tokens, std::int64_t vocabulary) {
  for (const token id : tokens) {
    if (id < 0 || id >= vocabulary) {
      throw std::out_of_range(fmt::format("token {} is not in the vocabulary of {} tokens", id, vocabulary));
    }
  }
}

void check_text(const encoder_text& text, const load::model_config& config) {
  const auto count = static_cast<std::int64_t>(text.tokens.size());
  if (count == 0) throw std::invalid_argument("a text is empty: it must hold at least one token");
  if (count > config.max_positions)
    throw std::length_error(
        fmt::format("a text has {} tokens; the model reads at most {}", count, config.max_positions));
  check_in_vocabulary(text.tokens, config.vocabulary);
}

}  // namespace cogen::nn
