#pragma once

#include "formats/text/replacing.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cogen::text {

/// U+2581, which SentencePiece writes for a space.
inline constexpr std::string_view lower_block = "\xE2\x96\x81";

/// Turns the spellings of tokens into the bytes that they stand for. Immutable.
class token_decoder {
 public:
  /// Throws std::invalid_argument for a pattern that does not compile.
  token_decoder(const std::vector<decoder_step>& steps, bool strip_first_space);

  /// Whether a token stands for something else at the beginning of a text.
  bool depends_on_place() const noexcept;

  /// The bytes of a token; `is_first` if it begins a text. The spelling of an added token is text, not bytes.
  std::string bytes_of(std::string_view spelling, bool is_first, bool is_added, text_budget& budget) const;

 private:
  using step =
      std::variant<byte_level_decoding, byte_fallback_decoding, metaspace_decoding, word_piece_decoding, replacement>;

  std::vector<step> steps_;
  bool strip_first_space_;
};

}  // namespace cogen::text
