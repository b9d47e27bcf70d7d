#include "formats/text/spec_check.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace cogen::text {
namespace {

void require_id(token id, std::size_t size, const std::string& name) {
  if (id >= 0 && static_cast<std::size_t>(id) < size) return;
  throw std::invalid_argument(name + " has the id " + std::to_string(id) + ", outside the vocabulary of " +
                              std::to_string(size));
}

bool needs_scores(encoding_model model) {
  return model == encoding_model::byte_pair_by_score || model == encoding_model::unigram;
}

void require_scores(const tokenizer_spec& spec) {
  if (!needs_scores(spec.model)) return;
  if (spec.scores.size() != spec.vocabulary.size()) {
    throw std::invalid_argument("the vocabulary has " + std::to_string(spec.vocabulary.size()) + " tokens, but " +
                                std::to_string(spec.scores.size()) + " scores");
  }
  const auto wrong = std::find_if(spec.scores.begin(), spec.scores.end(), [](double s) { return std::isnan(s); });
  if (wrong == spec.scores.end()) return;
  throw std::invalid_argument("the score of token " + std::to_string(wrong - spec.scores.begin()) + " is not a number");
}

std::string token_named(std::size_t id) { return "token " + std::to_string(id); }

/// Every part of a token may be looked up, from every place of a text.
void require_spelling(std::string_view spelling, std::size_t id) {
  if (spelling.size() <= max_token_bytes) return;
  throw std::invalid_argument(token_named(id) + " has " + std::to_string(spelling.size()) +
                              " bytes, but the limit is " + std::to_string(max_token_bytes));
}

void require_spellings(const tokenizer_spec& spec) {
  for (std::size_t id = 0; id < spec.vocabulary.size(); ++id) require_spelling(spec.vocabulary[id], id);
  for (const auto& added : spec.added) require_spelling(added.content, static_cast<std::size_t>(added.id));
  require_count(max_spelled_bytes, spelled_bytes(spec), "bytes of tokens");
}

void require_steps(const tokenizer_spec& spec) {
  require_count(max_steps, spec.normalizer.size(), "normalizers");
  require_count(max_steps, spec.pre_tokenizer.size(), "pre-tokenizers");
  require_count(max_steps, spec.decoder.size(), "decoders");
  require_count(max_surrounding_tokens, spec.prefix.size(), before_a_text);
  require_count(max_surrounding_tokens, spec.suffix.size(), behind_a_text);
  require_count(max_surrounding_tokens, spec.between_pair.size(), between_texts);
}

}  // namespace

void require_count(std::size_t limit, std::size_t count, const char* name) {
  if (count <= limit) return;
  throw std::invalid_argument("the tokenizer has " + std::to_string(count) + " " + name + ", but the limit is " +
                              std::to_string(limit));
}

std::size_t spelled_bytes(const tokenizer_spec& spec) noexcept {
  std::size_t bytes = 0;
  for (const auto& each : spec.vocabulary) bytes += each.size();
  for (const auto& added : spec.added) bytes += added.content.size();
  return bytes;
}

std::size_t id_count(const tokenizer_spec& spec) {
  auto count = spec.vocabulary.size();
  const auto end = end_of_ids(count + spec.added.size());
  for (const auto& added : spec.added) {
    require_id(added.id, end, "added token \"" + added.content + "\"");
    count = std::max(count, static_cast<std::size_t>(added.id) + 1);
  }
  return count;
}

void require_consistent(const tokenizer_spec& spec) {
  if (spec.vocabulary.size() > max_vocabulary) {
    throw std::invalid_argument("a vocabulary of " + std::to_string(spec.vocabulary.size()) +
                                " tokens exceeds the limit of " + std::to_string(max_vocabulary));
  }
  auto size = id_count(spec);
  if (size == 0) throw std::invalid_argument("the vocabulary is empty");
  require_scores(spec);
  require_spellings(spec);
  require_steps(spec);
  if (spec.unknown) require_id(*spec.unknown, size, "the unknown token");
  if (spec.bos) require_id(*spec.bos, size, "the beginning token");
  for (auto id : spec.eos) require_id(id, size, "an end token");
  for (const auto& [key, id] : spec.keys) require_id(id, size, key);
  for (auto id : spec.prefix) require_id(id, size, "a token before the text");
  for (auto id : spec.suffix) require_id(id, size, "a token after the text");
  for (auto id : spec.between_pair) require_id(id, size, "a token between two texts");
}

}  // namespace cogen::text
