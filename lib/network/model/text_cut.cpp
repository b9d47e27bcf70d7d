#include "network/model/text_cut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cogen::nn {

namespace {

void keep(std::vector<token>& tokens, std::size_t begin, std::size_t end, std::size_t count, bool keeps_end) {
  const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(keeps_end ? begin : begin + count);
  tokens.erase(first, first + static_cast<std::ptrdiff_t>(end - begin - count));
}

/// How much stays of two texts that together are longer than `most`: the shorter one if it is at most half.
std::pair<std::size_t, std::size_t> kept_of(std::size_t first, std::size_t second, std::size_t most) {
  auto shorter = std::min(first, second);
  auto longer = shorter > most ? shorter : std::max(shorter, most - shorter);
  if (shorter + longer > most) {
    shorter = most / 2;
    longer = most - shorter;
  }
  return first > second ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

std::size_t room_beside(std::size_t special, const text_cut& cut) {
  if (special < cut.max_tokens) return cut.max_tokens - special;
  throw std::invalid_argument(
      fmt::format("the model reads at most {} tokens of a text, as many as the {} around it", cut.max_tokens, special));
}

void cut_pair(encoder_text& pair, const text_cut& cut) {
  const auto& [prefix, between, after] = cut.special;
  const auto most = room_beside(prefix + between + after, cut);
  const auto begin = static_cast<std::size_t>(*pair.second);
  const auto first = begin - between - prefix;
  const auto second = pair.tokens.size() - after - begin;
  const auto [kept_first, kept_second] = kept_of(first, second, most);
  keep(pair.tokens, begin, begin + second, kept_second, cut.keeps_end);
  keep(pair.tokens, prefix, prefix + first, kept_first, cut.keeps_end);
  pair.second = static_cast<int>(prefix + kept_first + between);
}

}  // namespace

void cut_text(encoder_text& text, const text_cut& cut) {
  if (text.tokens.size() <= cut.max_tokens) return;
  if (text.second) return cut_pair(text, cut);
  const auto& [prefix, between, after] = cut.special;
  const auto most = room_beside(prefix + after, cut);
  keep(text.tokens, prefix, text.tokens.size() - after, most, cut.keeps_end);
}

}  // namespace cogen::nn
