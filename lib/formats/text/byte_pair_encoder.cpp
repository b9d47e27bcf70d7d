#include "formats/text/byte_pair_encoder.hpp"

#include "formats/text/merge_lists.hpp"
#include "formats/text/plain_tokens.hpp"
#include "formats/text/utf8.hpp"

#include <utility>

namespace cogen::text {
namespace {

scored_merges merges_of(const vocabulary& words, const tokenizer_spec& spec) {
  if (spec.model == encoding_model::byte_pair_by_score) return merges_by_score(words, spec);
  return {listed_merges(words, spec), {}};
}

std::vector<std::string> by_id(const std::unordered_map<std::string, token>& parts, std::size_t first) {
  std::vector<std::string> spelled(parts.size());
  for (const auto& [spelling, id] : parts) spelled[static_cast<std::size_t>(id) - first] = spelling;
  return spelled;
}

}  // namespace

byte_pair_encoder::byte_pair_encoder(const vocabulary& words, const tokenizer_spec& spec)
    : byte_pair_encoder(words, spec, merges_of(words, spec)) {}

byte_pair_encoder::byte_pair_encoder(const vocabulary& words, const tokenizer_spec& spec, scored_merges merges)
    : words_(&words),
      merges_(std::move(merges.table)),
      parts_(std::move(merges.parts)),
      spelled_parts_(by_id(parts_, words.size())),
      is_plain_(plain_tokens(spec)),
      unknown_(spec.unknown),
      fuse_unknown_(spec.fuse_unknown),
      ignore_merges_(spec.ignore_merges) {
  for (char32_t c = 0; c < common_characters_.size(); ++c) {
    std::string character;
    append_utf8(character, c);
    common_characters_[c] = find(character).value_or(no_token);
  }
  if (spec.byte_fallback) bytes_.emplace(words);
}

void byte_pair_encoder::encode(std::string_view piece, symbol_chain& workspace, std::vector<token>& tokens) const {
  if (auto id = whole(piece)) {
    tokens.push_back(*id);
    return;
  }
  workspace.clear();
  begin(piece, workspace);
  const auto first = tokens.size();
  workspace.merge_into(tokens, merges_);
  if (!spelled_parts_.empty()) replace_parts(first, tokens);
}

std::optional<token> byte_pair_encoder::whole(std::string_view piece) const {
  if (!ignore_merges_) return std::nullopt;
  auto id = words_->find(piece);
  return id && is_plain_[static_cast<std::size_t>(*id)] ? id : std::nullopt;
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
    } else if (bytes_ && bytes_->spell(spelled)) {
      for (char byte : spelled) chain.append(bytes_->token_of(byte));
    } else if (unknown_) {
      if (unknown_waits && !fuse_unknown_) chain.append(*unknown_);
      unknown_waits = true;
    }
  }
  if (unknown_waits) chain.append(*unknown_);
}

std::optional<token> byte_pair_encoder::token_of(std::string_view character, char32_t code_point) const {
  if (code_point >= common_characters_.size()) return find(character);
  auto id = common_characters_[code_point];
  return id == no_token ? std::nullopt : std::optional(id);
}

std::optional<token> byte_pair_encoder::find(std::string_view character) const {
  if (auto id = words_->find(character)) return id;
  if (parts_.empty()) return std::nullopt;
  auto part = parts_.find(std::string(character));
  return part == parts_.end() ? std::nullopt : std::optional(part->second);
}

// Characters that remain without having become part of a token.
void byte_pair_encoder::replace_parts(std::size_t first, std::vector<token>& tokens) const {
  const std::vector<token> symbols(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
  tokens.resize(first);
  for (auto symbol : symbols) {
    if (static_cast<std::size_t>(symbol) < words_->size()) {
      tokens.push_back(symbol);
      continue;
    }
    const auto& spelled = spelled_parts_[static_cast<std::size_t>(symbol) - words_->size()];
    if (bytes_ && bytes_->spell(spelled)) {
      for (char byte : spelled) tokens.push_back(bytes_->token_of(byte));
    } else if (unknown_ && !(fuse_unknown_ && tokens.size() > first && tokens.back() == *unknown_)) {
      tokens.push_back(*unknown_);
    }
  }
}

}  // namespace cogen::text
