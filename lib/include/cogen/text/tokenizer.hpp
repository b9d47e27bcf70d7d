#pragma once

#include <cogen/detail/gguf_vocabulary.hpp>
#include <cogen/token.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text {

struct tokenizer_spec;

/// How a text is encoded.
struct encode_options {
  bool add_special = false;  ///< adds the tokens that the model expects around a text (usually one at the beginning)
  /// Recognizes control tokens written in the text; in segments, only in trusted ones. Otherwise `<|im_end|>` is ten
  /// ordinary characters, as user input should be.
  bool parse_special = false;
  /// A text that must have more tokens than this, as no token is long enough for so few, is refused before it is cut
  /// into tokens. One that is not refused may have more.
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();
};

/// A text must have more tokens than encode_options::max_tokens.
class token_limit_exceeded : public std::length_error {
 public:
  token_limit_exceeded(std::size_t bytes, std::size_t least);  ///< of a text of so many bytes
  std::size_t least() const noexcept { return least_; }        ///< how many it has at least

 private:
  std::size_t least_;
};

/// A part of a rendered chat, by author.
struct text_segment {
  std::string text;
  bool trusted = false;  ///< written by the model's template; in text from a message, control tokens are plain text

  friend bool operator==(const text_segment&, const text_segment&) = default;
};

/// BPE, Unigram and WordPiece, with the result of Hugging Face `tokenizers` for the same vocabulary and settings.
///
/// Texts are UTF-8. Each maximal invalid part counts as one U+FFFD; NUL is an ordinary character. Immutable and
/// thread-safe. Views it returns are valid as long as it is.
class tokenizer {
 public:
  /// Reads the text of a Hugging Face `tokenizer.json`, and of `tokenizer_config.json` for what only that has
  /// (beginning and end tokens, chat template); `config` is empty if there is none. Throws std::invalid_argument,
  /// naming the field and the value that is missing, malformed or unknown.
  static tokenizer from_tokenizer_json(std::string_view json, std::string_view config = {});
  /// Supports the models `gpt2`, `llama`, `t5`, `bert` and `gemma4`. Throws std::invalid_argument, naming the key and
  /// the value.
  static tokenizer from_gguf(const gguf_vocabulary& vocabulary);
  /// Called by load_model(). Throws std::invalid_argument, naming the fault, if the spec contradicts itself: an id
  /// outside the vocabulary, a merge of unknown spellings, a pattern that does not compile.
  explicit tokenizer(tokenizer_spec spec);
  tokenizer(tokenizer&&) noexcept;
  tokenizer& operator=(tokenizer&&) noexcept;
  ~tokenizer();
  /// The tokens of a text, in O(n log n) of its length. Throws std::length_error above 2^31 - 1 bytes or tokens, and
  /// std::runtime_error where the steps of the model's own file make more than 64 bytes of each byte and 4096 more, or
  /// take more than 64 steps for each byte and 2^26 more, or where one match of a pattern exceeds its limits. Throws
  /// token_limit_exceeded as encode_options::max_tokens says.
  std::vector<token> encode(std::string_view text, encode_options options = {}) const;
  /// The tokens of the joined segments. A control token counts only where every byte of it is trusted.
  std::vector<token> encode(std::span<const text_segment> segments, encode_options options = {}) const;
  /// The tokens of two texts that a model compares, with those that it expects around and between them.
  encoder_text encode(const text_pair& pair) const;
  /// The text of tokens, always valid UTF-8: bytes that form no character become U+FFFD. Control tokens are left out if
  /// `skip_special`. Throws std::out_of_range for an id outside the vocabulary.
  std::string decode(std::span<const token> tokens, bool skip_special = false) const;
  /// One token; bytes may be part of a character, text is valid UTF-8. `is_first` in a text. Throws std::out_of_range.
  std::string_view token_bytes(token id, bool is_first = false) const;
  std::string token_text(token id) const;
  /// The id of a token by its spelling, such as `<|im_end|>`, or by the key that a GGUF file has for it.
  std::optional<token> find(std::string_view spelling) const;

  std::size_t size() const noexcept;                ///< of ids; those that stand for no token have no text
  bool is_special(token id) const noexcept;         ///< whether it is a control token
  std::optional<token> bos() const noexcept;        ///< put before a text
  std::span<const token> eos() const noexcept;      ///< those that end a generation, ascending; may be empty
  std::optional<token> unknown() const noexcept;    ///< for a byte or character that the vocabulary lacks
  std::string_view chat_template() const noexcept;  ///< the model's own Jinja template; empty if it has none
  /// The model's own description of its responses, in JSON; empty if it has none.
  std::string_view response_template() const noexcept;

 private:
  struct parts;
  std::unique_ptr<const parts> parts_;
};

/// Turns tokens into text as they arrive. The pieces together are the text of tokenizer::decode(), and each is valid
/// UTF-8: an incomplete character (at most three bytes) is held back until the rest arrives.
///
/// The tokenizer must outlive it. Not thread-safe. A copy includes what is held back, so a fork can continue from it.
class detokenizer {
 public:
  /// Leaves control tokens out of the text if `skip_special`.
  explicit detokenizer(const tokenizer& tokens, bool skip_special = true) noexcept
      : tokens_(&tokens), skip_special_(skip_special) {}

  /// The text that this token completes; often empty. Throws std::out_of_range for an id outside the vocabulary, and is
  /// then unchanged.
  std::string push(token id);

  std::string flush();  ///< what is held back, as U+FFFD since no more will come; then a new text begins

 private:
  const tokenizer* tokens_;
  std::string held_;
  bool skip_special_;
  bool at_start_ = true;
};

}  // namespace cogen::text
