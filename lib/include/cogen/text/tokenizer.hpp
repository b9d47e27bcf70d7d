#pragma once

#include "cogen/text/text_segment.hpp"
#include "cogen/text/tokenizer_spec.hpp"
#include "cogen/token.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text {

/// How a text is encoded.
struct encode_options {
  /// Adds the tokens that the model expects around a text (usually one at the beginning).
  bool add_special = false;
  /// Recognizes control tokens written in the text. Otherwise `<|im_end|>` is ten ordinary characters, as user input
  /// should be. In segments it applies to trusted ones only.
  bool parse_special = false;
};

/// Byte-pair encoding, with the same result as Hugging Face `tokenizers` for the same vocabulary and settings.
///
/// Texts are UTF-8. Each maximal invalid part counts as one U+FFFD; NUL is an ordinary character. Immutable and
/// thread-safe. Views it returns are valid as long as it is.
class tokenizer {
 public:
  /// Throws std::invalid_argument, naming the fault, if the spec contradicts itself: an id outside the vocabulary, a
  /// merge of unknown spellings, a pattern that does not compile.
  explicit tokenizer(tokenizer_spec spec);
  tokenizer(tokenizer&&) noexcept;
  tokenizer& operator=(tokenizer&&) noexcept;
  ~tokenizer();

  /// The tokens of a text, in O(n log n) of its length.
  /// Throws std::length_error above 2^31 - 1 bytes or tokens, and std::runtime_error if a pre-tokenizer pattern from
  /// the model's own file exceeds its matching limits on this text.
  std::vector<token> encode(std::string_view text, encode_options options = {}) const;

  /// The tokens of the joined segments. A control token counts only where every byte of it is trusted.
  std::vector<token> encode(std::span<const text_segment> segments, encode_options options = {}) const;

  /// The text of tokens, always valid UTF-8: bytes that form no character become U+FFFD.
  /// Control tokens are left out if `skip_special`. Throws std::out_of_range for an id outside the vocabulary.
  std::string decode(std::span<const token> tokens, bool skip_special = false) const;

  /// The bytes of one token; may be part of a character. Throws std::out_of_range.
  std::string_view token_bytes(token id) const;

  /// The same as valid UTF-8. Throws std::out_of_range.
  std::string token_text(token id) const;

  /// The id of a token by its spelling in the vocabulary, such as `<|im_end|>`.
  std::optional<token> find(std::string_view spelling) const;

  /// The number of ids, added tokens included.
  std::size_t size() const noexcept;

  std::optional<token> bos() const noexcept;

  /// The tokens that end a generation, ascending; may be empty.
  std::span<const token> eos() const noexcept;

  /// Whether it is a control token.
  bool is_special(token id) const noexcept;

  /// The token for a byte or character that the vocabulary lacks.
  std::optional<token> unknown() const noexcept;

  /// The model's own Jinja template, empty if it has none.
  std::string_view chat_template() const noexcept;

  /// Whether decoding drops the first space of a text; see tokenizer_spec::strip_first_space.
  bool strips_first_space() const noexcept;

 private:
  struct parts;
  std::unique_ptr<const parts> parts_;
};

}  // namespace cogen::text
