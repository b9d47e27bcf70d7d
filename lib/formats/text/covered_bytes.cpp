#include "formats/text/covered_bytes.hpp"

#include "formats/text/byte_alphabet.hpp"
#include "formats/text/byte_tokens.hpp"

#include <algorithm>
#include <bitset>
#include <string_view>
#include <variant>

namespace cogen::text {
namespace {

constexpr std::size_t max_character_bytes = 4;

bool drops_text(const pre_tokenizer_step& step) {
  if (const auto* split = std::get_if<split_step>(&step)) return split->behavior == split_behavior::removed;
  if (const auto* spaces = std::get_if<metaspace_step>(&step)) return spaces->replacement.empty();
  return false;
}

/// Whether it takes white space around it, however much there is. One that is matched before the text is normalized
/// takes it from what is not counted.
bool drops_spaces(const added_token& added) { return added.normalized && (added.lstrip || added.rstrip); }

bool maps_bytes(const tokenizer_spec& spec) {
  return std::ranges::any_of(spec.pre_tokenizer,
                             [](const auto& step) { return std::holds_alternative<byte_level_step>(step); });
}

/// Whether `byte_in` finds each byte in the spelling of a token.
template <class ByteIn>
bool has_all_bytes(const tokenizer_spec& spec, const ByteIn& byte_in) {
  std::bitset<256> found;
  for (const auto& spelling : spec.vocabulary)
    if (const auto byte = byte_in(spelling)) found.set(static_cast<unsigned char>(*byte));
  return found.all();
}

std::optional<char> mapped_byte(const std::string& spelling) {
  if (spelling.empty() || spelling.size() > 2) return std::nullopt;
  const auto bytes = bytes_of_spelling(spelling);
  return bytes && bytes->size() == 1 ? std::optional(bytes->front()) : std::nullopt;
}

/// Whether what the vocabulary lacks becomes a token for each character at least.
bool spells_everything(const tokenizer_spec& spec) {
  if (spec.model == encoding_model::word_piece) return false;
  if (spec.byte_fallback && has_all_bytes(spec, byte_literal)) return true;
  if (spec.model == encoding_model::unigram) return false;
  if (maps_bytes(spec) && has_all_bytes(spec, mapped_byte)) return true;
  return spec.unknown && !spec.fuse_unknown;
}

std::size_t bytes_of(const std::string& spelling, bool are_mapped) {
  const auto bytes = are_mapped ? bytes_of_spelling(spelling) : std::nullopt;
  return bytes ? bytes->size() : spelling.size();
}

}  // namespace

std::optional<std::size_t> covered_bytes(const tokenizer_spec& spec) {
  if (!spells_everything(spec) || std::ranges::any_of(spec.pre_tokenizer, drops_text) ||
      std::ranges::any_of(spec.added, drops_spaces))
    return std::nullopt;
  const bool are_mapped = maps_bytes(spec);
  std::size_t longest = max_character_bytes;
  for (const auto& spelling : spec.vocabulary) longest = std::max(longest, bytes_of(spelling, are_mapped));
  for (const auto& added : spec.added) longest = std::max(longest, added.content.size());
  return longest;
}

}  // namespace cogen::text
