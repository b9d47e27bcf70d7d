#pragma once

#include <cogen/token.hpp>

#include <cstddef>

namespace cogen::nn {

/// How many tokens a tokenizer puts around a text and between two.
struct special_counts {
  std::size_t prefix = 0;
  std::size_t between = 0;
  std::size_t after = 0;
};

/// Where texts are cut that are longer than `max_tokens`, special tokens included, which stay.
struct text_cut {
  std::size_t max_tokens = 0;
  bool keeps_end = false;  ///< a text loses tokens at its beginning
  special_counts special = {};
};

/// Cuts a text, or a pair: first the longer one, down to the length of the other. Throws std::invalid_argument where
/// the special tokens alone are as many as it may have.
void cut_text(encoder_text& text, const text_cut& cut);

}  // namespace cogen::nn
