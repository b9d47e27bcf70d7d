#pragma once

#include <cogen/token.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::text {

struct gguf_vocabulary;

/// A token matched in the text before the merges run, as Hugging Face `tokenizers` define it.
struct added_token {
  token id = 0;
  std::string content;
  /// A control token: matched only where the caller allows it, and left out of plain text.
  bool special = false;
  /// Removes the white space on its left or right.
  bool lstrip = false;
  bool rstrip = false;
  /// Matched in the normalized text, not in the text as given.
  bool normalized = false;
  /// Matched only if no word character is adjacent to it.
  bool single_word = false;
};

enum class unicode_form { nfc, nfd, nfkc, nfkd, lowercase };

/// What a filter does with each character.
enum class character_filter {
  /// Removes control characters and U+FFFD; white space becomes a space.
  clean,
  /// Puts a space before and after each ideograph.
  space_ideographs,
  remove_nonspacing_marks,
  remove_marks,
};

/// SentencePiece's precompiled table of replacements.
struct charsmap_step {
  /// What is looked up in the table.
  enum class matching {
    /// The longest prefix of the rest of the text: SentencePiece.
    longest_prefix,
    /// Each grapheme of fewer than 6 bytes, else each of its characters: Hugging Face `tokenizers`.
    grapheme,
  };

  std::string table;
  matching mode = matching::longest_prefix;
};

/// Replaces each match of `pattern` by `content`.
struct replace_step {
  std::string pattern;
  bool is_regex = false;
  std::string content;
};

/// Puts `content` before a text that is not empty.
struct prepend_step {
  std::string content;
};

/// Removes white space at the ends of a text.
struct strip_step {
  bool left = true;
  bool right = true;
};

using normalizer_step =
    std::variant<unicode_form, character_filter, charsmap_step, replace_step, prepend_step, strip_step>;

/// What happens to a match at which the text is split.
enum class split_behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Splits at the matches of `pattern` (of the text between them, if `invert`).
struct split_step {
  std::string pattern;
  bool is_regex = true;
  split_behavior behavior = split_behavior::isolated;
  bool invert = false;
};

/// Splits digits from everything else, and from each other if `individual`.
struct digits_step {
  bool individual = false;
};

/// Splits numbers into groups of three digits, counted from the end.
struct digit_groups_step {
  enum class number_kind {
    any_digits,
    /// Decimal digits; what is between the groups belongs to the one before it.
    decimals,
    /// Decimal digits that end a word.
    whole_words,
  };

  number_kind numbers = number_kind::any_digits;
};

/// GPT-2's mapping of bytes to printable characters, by default after a split with GPT-2's pattern.
struct byte_level_step {
  bool add_prefix_space = false;
  bool use_regex = true;
};

/// SentencePiece's spelling of spaces: each becomes `replacement`, which also begins the text if `prepend` says so.
struct metaspace_step {
  /// When the text begins with `replacement`.
  enum class prepend_scheme { always, first, never };

  std::string replacement = "\xE2\x96\x81";
  prepend_scheme prepend = prepend_scheme::always;
  bool split = true;
};

using pre_tokenizer_step = std::variant<split_step, digits_step, digit_groups_step, byte_level_step, metaspace_step>;

// Steps that turn the spelling of a token into its bytes.

/// Each of GPT-2's printable characters is a byte; a spelling with another character is text.
struct byte_level_decoding {};

/// `<0x41>` is a byte.
struct byte_fallback_decoding {};

/// `replacement` is a space, or nothing in the first token of a text if `drops_first`.
struct metaspace_decoding {
  std::string replacement = "\xE2\x96\x81";
  bool drops_first = true;
};

/// A token continues a word if it begins with `prefix`, which is dropped; otherwise a space comes before it.
struct word_piece_decoding {
  std::string prefix = "##";
  /// Removes the spaces before punctuation and English contractions.
  bool cleanup = true;
};

using decoder_step =
    std::variant<byte_level_decoding, byte_fallback_decoding, metaspace_decoding, word_piece_decoding, replace_step>;

/// How a piece of text becomes tokens.
enum class encoding_model {
  /// Joins neighbors in the order of `tokenizer_spec::merges`.
  byte_pair,
  /// Joins the neighbors that form the token with the highest of `tokenizer_spec::scores`.
  byte_pair_by_score,
  /// The tokens with the largest sum of `tokenizer_spec::scores`.
  unigram,
  /// Again and again the longest token that the rest of the piece begins with.
  word_piece,
};

/// How far the score of an unknown piece lies below the lowest score of a vocabulary, as in SentencePiece.
inline constexpr double unknown_penalty = 10;

/// Everything that defines a tokenizer. A plain value that tests and other loaders can also write.
struct tokenizer_spec {
  encoding_model model = encoding_model::byte_pair;
  /// Spellings by id. An id that nothing uses has an empty spelling.
  std::vector<std::string> vocabulary;
  /// Pairs of spellings, in order of priority.
  std::vector<std::pair<std::string, std::string>> merges;
  /// By id of the vocabulary: of unigram, the logarithm of a token's probability.
  std::vector<double> scores;
  /// Of unigram: of a character that the vocabulary lacks.
  double unknown_score = 0;
  /// Of word_piece: begins the spellings of tokens that continue a word.
  std::string continuing_prefix = "##";
  /// Of word_piece: a longer piece is one unknown token.
  std::size_t max_word_characters = 100;

  std::vector<added_token> added;
  std::vector<normalizer_step> normalizer;
  std::vector<pre_tokenizer_step> pre_tokenizer;
  std::vector<decoder_step> decoder{byte_level_decoding{}};
  /// Drops one space at the beginning of a decoded text.
  bool strip_first_space = false;
  /// The token for a character that the vocabulary lacks; if empty, such characters are dropped.
  std::optional<token> unknown;
  /// Neighboring unknown characters become one token.
  bool fuse_unknown = false;
  /// Characters that the vocabulary lacks are spelled as `<0x41>` tokens if each of their bytes has one.
  bool byte_fallback = false;
  /// `<0x41>` in a text may be the token of that byte, as in Hugging Face `tokenizers`.
  bool finds_byte_tokens = false;
  /// A piece that is itself in the vocabulary is one token, whatever the merges say.
  bool ignore_merges = false;
  /// Put around the text by `encode_options::add_special`.
  std::vector<token> prefix;
  std::vector<token> suffix;
  /// Put between two texts that are encoded as a pair.
  std::vector<token> between_pair;

  /// Tokens by the keys that a GGUF file has for them.
  std::vector<std::pair<std::string, token>> keys;
  std::optional<token> bos;
  /// The tokens that end a generation.
  std::vector<token> eos;
  /// The model's own Jinja template, empty if it has none.
  std::string chat_template;
  std::string response_template;  // JSON
};

/// Reads a Hugging Face `tokenizer.json`, and `tokenizer_config.json` for what only that has (beginning and end tokens,
/// chat template); pass an empty `config` if there is none. Supports the models BPE, Unigram and WordPiece. Throws
/// std::invalid_argument naming the field and the value that is missing, malformed or unknown.
tokenizer_spec from_tokenizer_json(std::string_view tokenizer, std::string_view config = {});

/// Makes the tokenizer that a GGUF file describes. Supports the models `gpt2`, `llama`, `t5`, `bert` and `gemma4`, and
/// the pre-tokenizers listed in lib/formats/text/gguf_pre_tokenizers.cpp. Throws std::invalid_argument naming the key
/// and the value.
tokenizer_spec from_gguf(const gguf_vocabulary& vocabulary);

}  // namespace cogen::text
