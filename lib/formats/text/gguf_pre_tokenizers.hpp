#pragma once

#include "formats/text/tokenizer_spec.hpp"

#include <string_view>

namespace cogen::text {

/// What `tokenizer.ggml.pre` says of a vocabulary.
struct gguf_pre_tokenizer {
  std::string_view name;
  /// Sets the normalizer, the pre-tokenizer and what goes with them.
  void (*apply)(tokenizer_spec&);
  bool ignore_merges = false;
  /// Whether the beginning token is added where the file does not say.
  bool adds_bos = false;
};

/// Throws std::invalid_argument naming all that are known.
const gguf_pre_tokenizer& pre_tokenizer_named(std::string_view name);

/// Text with U+2581 for spaces, in one piece for each line and each run of line ends.
void split_lines(tokenizer_spec& spec);

/// `<0x41>` is a byte and U+2581 a space.
std::vector<decoder_step> sentence_piece_decoder();

}  // namespace cogen::text
