#include "formats/text/tokenizer_model_json.hpp"

#include "formats/text/spec_check.hpp"
#include "formats/text/tokenizer_steps_json.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cogen::text {
namespace {

std::vector<std::string> vocabulary_of(const json::field& vocab) {
  std::vector<std::string> spellings(vocab.object().size());
  const auto end = end_of_ids(spellings.size());
  for (const auto& [spelling, value] : vocab.object()) {
    json::field field(value, vocab.path() + "." + std::string(spelling));
    auto id = static_cast<std::size_t>(token_id(field));
    if (id >= end)
      field.refuse("the ids of " + std::to_string(vocab.object().size()) + " tokens lie below " + std::to_string(end));
    if (id >= spellings.size()) spellings.resize(id + 1);
    if (!spellings[id].empty()) field.refuse("\"" + spellings[id] + "\" has that id already");
    spellings[id] = spelling;
  }
  return spellings;
}

std::pair<std::string, std::string> merge_of(const json::field& merge) {
  if (merge.value().is_string()) {
    auto both = merge.string();
    auto space = both.find(' ');
    if (space == std::string::npos) merge.refuse("a merge has two parts with a space between");
    return {both.substr(0, space), both.substr(space + 1)};
  }
  if (merge.array().size() != 2) merge.refuse("a merge has two parts");
  return {merge.element(0).string(), merge.element(1).string()};
}

void refuse_if_given(const json::field& model, std::string_view key) {
  auto found = model.find(key);
  if (found && !found->string().empty()) found->refuse("cogen knows only vocabularies without it");
}

void read_unknown(const json::field& model, tokenizer_spec& spec) {
  auto unknown = model.find("unk_token");
  if (!unknown) return;
  const auto found = std::ranges::find(spec.vocabulary, unknown->string());
  spec.unknown = found != spec.vocabulary.end() ? static_cast<token>(found - spec.vocabulary.begin())
                                                : find_token(spec, unknown->string());
  if (!spec.unknown) unknown->refuse("the vocabulary has no such token");
}

void read_byte_pairs(const json::field& model, tokenizer_spec& spec) {
  refuse_if_given(model, "continuing_subword_prefix");
  refuse_if_given(model, "end_of_word_suffix");
  spec.vocabulary = vocabulary_of(model.at("vocab"));
  auto merges = model.at("merges");
  spec.merges.reserve(merges.array().size());
  for (std::size_t i = 0; i < merges.array().size(); ++i) spec.merges.push_back(merge_of(merges.element(i)));
  spec.fuse_unknown = model.flag("fuse_unk", false);
  spec.byte_fallback = model.flag("byte_fallback", false);
  spec.ignore_merges = model.flag("ignore_merges", false);
  read_unknown(model, spec);
}

double score_of(const json::field& score) {
  if (!score.value().is_number()) score.refuse("a score is a number");
  return score.value().to_number<double>();
}

void read_unigram(const json::field& model, tokenizer_spec& spec) {
  spec.model = encoding_model::unigram;
  auto pieces = model.at("vocab");
  for (std::size_t i = 0; i < pieces.array().size(); ++i) {
    auto piece = pieces.element(i);
    if (piece.array().size() != 2) piece.refuse("a piece has a spelling and a score");
    spec.vocabulary.push_back(piece.element(0).string());
    spec.scores.push_back(score_of(piece.element(1)));
  }
  if (!spec.scores.empty()) {
    spec.unknown_score = *std::min_element(spec.scores.begin(), spec.scores.end()) - unknown_penalty;
  }
  if (auto unknown = model.find("unk_id")) spec.unknown = token_id(*unknown);
  spec.byte_fallback = model.flag("byte_fallback", false);
}

void read_word_pieces(const json::field& model, tokenizer_spec& spec) {
  spec.model = encoding_model::word_piece;
  spec.vocabulary = vocabulary_of(model.at("vocab"));
  spec.continuing_prefix = model.text("continuing_subword_prefix", "##");
  if (auto most = model.find("max_input_chars_per_word")) {
    if (most->integer() < 0) most->refuse("it is a number of characters");
    spec.max_word_characters = static_cast<std::size_t>(most->integer());
  }
  read_unknown(model, spec);
}

}  // namespace

void read_model(const json::field& model, tokenizer_spec& spec) {
  spec.finds_byte_tokens = true;
  auto type = model.text("type", "BPE");
  if (type == "BPE") {
    read_byte_pairs(model, spec);
  } else if (type == "Unigram") {
    read_unigram(model, spec);
  } else if (type == "WordPiece") {
    read_word_pieces(model, spec);
  } else {
    model.at("type").refuse("cogen knows BPE, Unigram and WordPiece");
  }
}

std::optional<token> find_token(const tokenizer_spec& spec, std::string_view content) {
  for (const auto& added : spec.added) {
    if (added.content == content) return added.id;
  }
  for (std::size_t id = 0; id < spec.vocabulary.size(); ++id) {
    if (spec.vocabulary[id] == content) return static_cast<token>(id);
  }
  return std::nullopt;
}

}  // namespace cogen::text
