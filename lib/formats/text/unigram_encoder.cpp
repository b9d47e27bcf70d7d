#include "formats/text/unigram_encoder.hpp"

#include "formats/text/plain_tokens.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <limits>

namespace cogen::text {
namespace {

constexpr best_path unreached{-std::numeric_limits<double>::infinity(), 0, no_token};

void improve(best_path& path, best_path candidate) {
  if (candidate.score > path.score) path = candidate;
}

}  // namespace

unigram_encoder::unigram_encoder(const vocabulary& words, const tokenizer_spec& spec)
    : scores_(spec.scores), unknown_score_(spec.unknown_score), unknown_(spec.unknown) {
  const auto plain = plain_tokens(spec);
  for (std::size_t id = 0; id < plain.size(); ++id) {
    if (plain[id]) trie_.insert(spec.vocabulary[id], id);
  }
  if (spec.byte_fallback) bytes_.emplace(words);
}

void unigram_encoder::encode(std::string_view piece, std::vector<best_path>& workspace, text_budget& budget,
                             std::vector<token>& tokens) const {
  find_paths(piece, workspace, budget);
  const auto first = tokens.size();
  for (std::size_t end = piece.size(); end > 0;) {
    auto begin = workspace[end].begin;
    const auto last = workspace[end].last;
    if (last != no_token) {
      tokens.push_back(last);
    } else {
      while (begin > 0 && workspace[begin].last == no_token) begin = workspace[begin].begin;
      append_unknown(piece.substr(begin, end - begin), tokens);
    }
    end = begin;
  }
  std::reverse(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
}

void unigram_encoder::find_paths(std::string_view piece, std::vector<best_path>& paths, text_budget& budget) const {
  paths.assign(piece.size() + 1, unreached);
  paths[0].score = 0;
  for (std::size_t begin = 0; begin < piece.size();) {
    const auto length = first_character(piece.substr(begin)).length;
    if (!extend(piece, begin, paths, budget)) {
      improve(paths[begin + length], {paths[begin].score + unknown_score_, begin, no_token});
    }
    begin += length;
  }
}

// Returns whether the character at `begin` is a token.
bool unigram_encoder::extend(std::string_view piece, std::size_t begin, std::vector<best_path>& paths,
                             text_budget& budget) const {
  const auto character_end = begin + first_character(piece.substr(begin)).length;
  bool is_token = false;
  auto node = byte_trie::root;
  for (std::size_t end = begin; end < piece.size();) {
    budget.spend(1);
    const auto next = trie_.child(node, static_cast<unsigned char>(piece[end]));
    if (!next) break;
    node = *next;
    ++end;
    const auto id = trie_.value(node);
    if (!id) continue;
    improve(paths[end], {paths[begin].score + scores_[*id], begin, static_cast<token>(*id)});
    is_token = is_token || end == character_end;
  }
  return is_token;
}

// In reverse, as the tokens around it are.
void unigram_encoder::append_unknown(std::string_view spelled, std::vector<token>& tokens) const {
  if (bytes_ && bytes_->spell(spelled)) {
    for (auto byte = spelled.rbegin(); byte != spelled.rend(); ++byte) tokens.push_back(bytes_->token_of(*byte));
  } else if (unknown_) {
    tokens.push_back(*unknown_);
  }
}

}  // namespace cogen::text
