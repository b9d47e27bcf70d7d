#include "text/byte_pair_encoder.hpp"

#include "text/utf8.hpp"

#include <cstdio>
#include <stdexcept>

namespace cogen::text {
namespace {

token existing(const vocabulary& words, const std::string& spelling, std::size_t rank) {
  if (auto id = words.find(spelling)) return *id;
  throw std::invalid_argument("merge " + std::to_string(rank) + " needs the token \"" + spelling +
                              "\", which the vocabulary lacks");
}

std::string byte_spelling(unsigned byte) {
  char spelled[8];
  std::snprintf(spelled, sizeof spelled, "<0x%02X>", byte);
  return spelled;
}

std::array<token, 256> byte_tokens(const vocabulary& words) {
  std::array<token, 256> tokens;
  for (unsigned byte = 0; byte < 256; ++byte) tokens[byte] = words.find(byte_spelling(byte)).value_or(no_token);
  return tokens;
}

// Of the words alone: added tokens may have ids behind them.
std::vector<bool> special_words(std::size_t words, const tokenizer_spec& spec) {
  std::vector<bool> special(words);
  for (const auto& added : spec.added) {
    const auto id = static_cast<std::size_t>(added.id);
    if (added.special && id < words) special[id] = true;
  }
  return special;
}

}  // namespace

byte_pair_encoder::byte_pair_encoder(const vocabulary& words, const tokenizer_spec& spec)
    : words_(&words),
      merges_(spec.merges.size()),
      is_special_(special_words(words.size(), spec)),
      unknown_(spec.unknown),
      fuse_unknown_(spec.fuse_unknown),
      ignore_merges_(spec.ignore_merges) {
  for (std::uint32_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto& [left, right] = spec.merges[rank];
    auto result = existing(words, left + right, rank);
    merges_.insert(existing(words, left, rank), existing(words, right, rank), {rank, result});
  }
  for (char32_t c = 0; c < common_characters_.size(); ++c) {
    std::string character;
    append_utf8(character, c);
    common_characters_[c] = words.find(character).value_or(no_token);
  }
  if (spec.byte_fallback) byte_tokens_ = byte_tokens(words);
}

void byte_pair_encoder::encode(std::string_view piece, symbol_chain& workspace, std::vector<token>& to) const {
  if (auto id = whole(piece)) {
    to.push_back(*id);
    return;
  }
  workspace.clear();
  begin(piece, workspace);
  workspace.merge_into(to, merges_);
}

std::optional<token> byte_pair_encoder::whole(std::string_view piece) const {
  if (!ignore_merges_) return std::nullopt;
  auto id = words_->find(piece);
  return id && !is_special_[static_cast<std::size_t>(*id)] ? id : std::nullopt;
}

void byte_pair_encoder::begin(std::string_view piece, symbol_chain& chain) const {
  bool unknown_waits = false;
  while (!piece.empty()) {
    auto character = first_character(piece);
    auto spelled = piece.substr(0, character.length);
    piece.remove_prefix(character.length);
    if (auto id = token_of(spelled, character.code_point)) {
      if (unknown_waits) chain.append(*unknown_);
      unknown_waits = false;
      chain.append(*id);
    } else if (!append_bytes(spelled, chain) && unknown_) {
      if (unknown_waits && !fuse_unknown_) chain.append(*unknown_);
      unknown_waits = true;
    }
  }
  if (unknown_waits) chain.append(*unknown_);
}

std::optional<token> byte_pair_encoder::token_of(std::string_view character, char32_t code_point) const {
  if (code_point >= common_characters_.size()) return words_->find(character);
  auto id = common_characters_[code_point];
  return id == no_token ? std::nullopt : std::optional(id);
}

bool byte_pair_encoder::append_bytes(std::string_view character, symbol_chain& chain) const {
  if (!byte_tokens_) return false;
  for (char byte : character) {
    if ((*byte_tokens_)[static_cast<unsigned char>(byte)] == no_token) return false;
  }
  for (char byte : character) chain.append((*byte_tokens_)[static_cast<unsigned char>(byte)]);
  return true;
}

}  // namespace cogen::text
