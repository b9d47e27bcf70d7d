#include "sampling/token_mask.hpp"

#include "sampling/row.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace cogen {
namespace {

constexpr std::size_t word_bits = 64;

void exclude(std::uint64_t bits, std::span<float> block) {
  if (block.size() < word_bits) bits &= (std::uint64_t{1} << block.size()) - 1;
  for (; bits != 0; bits &= bits - 1) block[static_cast<std::size_t>(std::countr_zero(bits))] = -infinity;
}

}  // namespace

void apply_mask(token_mask mask, std::span<float> logits) {
  for (std::size_t w = 0; w < mask.size() && w * word_bits < logits.size(); ++w) {
    const auto block = logits.subspan(w * word_bits).first(std::min(word_bits, logits.size() - w * word_bits));
    if (mask[w] == 0)
      std::ranges::fill(block, -infinity);
    else
      exclude(~mask[w], block);
  }
}

std::optional<token> only_token(token_mask mask) {
  std::optional<token> only;
  for (std::size_t w = 0; w < mask.size(); ++w) {
    if (mask[w] == 0) continue;
    if (only || !std::has_single_bit(mask[w])) return std::nullopt;
    only = static_cast<token>(w * word_bits) + std::countr_zero(mask[w]);
  }
  return only;
}

}  // namespace cogen
