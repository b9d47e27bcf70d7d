#pragma once

#include <cogen/text/tokenizer.hpp>
#include <cogen/token.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text {

/// Control tokens of models that fill gaps in texts (Bavarian et al. 2022, arXiv:2207.14255). Each stands before its
/// part: what comes before the gap, what comes behind it, and what fills it; the name of a repository, and of a file.
struct infill_tokens {
  std::optional<token> prefix = {}, suffix = {}, middle = {}, repository = {}, file = {}, padding = {};

  bool complete() const noexcept { return prefix && suffix && middle; }  ///< whether the model fills gaps
};

/// Those that a GGUF file names, and that have a name which a model family gives them.
infill_tokens infill_tokens_of(const tokenizer& tokens);

/// A file that a model sees besides the one with the gap.
struct infill_file {
  std::string name;
  std::string text;
};

/// A text with a gap.
struct infill_text {
  std::string prefix;                   ///< what comes before the gap
  std::string suffix;                   ///< what comes behind it
  std::string prompt = {};              ///< how what fills it begins, encoded apart from the prefix
  std::vector<infill_file> files = {};  ///< the most important one last
  std::string repository = {};          ///< its name, for models that know repositories; empty: none
  std::string name = {};                ///< of the file with the gap, for models that know files; empty: none
};

/// The prompt after which a model generates what fills the gap, in the order of llama.cpp: the files, the prefix, the
/// suffix. Of more than `most` tokens, the first ones of the files are left out, then, if need be, those of the prefix
/// and the suffix that are farthest from the gap, of which the suffix keeps a quarter. Throws std::invalid_argument if
/// the model has no tokens for it, and what tokenizer::encode() throws.
std::vector<token> encode_infill(const tokenizer& tokens, const infill_text& infill,
                                 std::size_t most = std::numeric_limits<std::size_t>::max());

/// The same for texts that go on alike behind their gaps: the suffix is encoded once. Throws token_limit_exceeded for a
/// suffix or a prefix of more than `max_tokens` tokens, and otherwise as encode_infill() does.
std::vector<std::vector<token>> encode_infills(const tokenizer& tokens, std::span<const std::string> prefixes,
                                               std::string_view suffix, std::size_t max_tokens);

/// Tokens that end what fills a gap, besides the model's end tokens.
std::vector<token> infill_ends(const tokenizer& tokens);

}  // namespace cogen::text
