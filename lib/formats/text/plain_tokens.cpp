#include "formats/text/plain_tokens.hpp"

#include "formats/text/byte_tokens.hpp"

namespace cogen::text {

std::vector<bool> plain_tokens(const tokenizer_spec& spec) {
  const bool hides_bytes = spec.byte_fallback && !spec.finds_byte_tokens;
  std::vector<bool> plain(spec.vocabulary.size());
  for (std::size_t id = 0; id < plain.size(); ++id) {
    const auto& spelling = spec.vocabulary[id];
    plain[id] = !spelling.empty() && (!hides_bytes || !byte_literal(spelling));
  }
  const auto exclude = [&](token id) {  // added tokens may have ids behind the vocabulary
    if (static_cast<std::size_t>(id) < plain.size()) plain[static_cast<std::size_t>(id)] = false;
  };
  for (const auto& added : spec.added) {
    if (added.special) exclude(added.id);
  }
  if (spec.unknown) exclude(*spec.unknown);
  return plain;
}

}  // namespace cogen::text
