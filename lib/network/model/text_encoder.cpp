#include "network/model/text_encoder.hpp"

#include "network/model/checked_text.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <variant>

namespace cogen::nn {

namespace {

bool is_pair(const encoder_input& input) {
  const auto* tokens = std::get_if<encoder_text>(&input);
  return tokens ? tokens->second.has_value() : std::holds_alternative<text_pair>(input);
}

void check_second(const encoder_text& text) {
  if (const auto second = text.second.value_or(1); second < 0 || second > std::ssize(text.tokens))
    throw std::invalid_argument(
        fmt::format("a pair of {} tokens would have its second text at {}", text.tokens.size(), second));
}

}  // namespace

encoder_text text_encoder::read(const encoder_input& input) const {
  if (is_pair(input) != model_->scores_pairs())
    throw std::invalid_argument(model_->scores_pairs() ? "the input is one text; this model scores pairs"
                                                       : "the input is a pair of texts; this model embeds each alone");
  auto text = model_->tokenize(input);
  check_text(text, model_->config());
  check_second(text);
  return text;
}

void text_encoder::check_purpose(bool scores) const {
  if (scores && !model_->scores_pairs())
    throw std::invalid_argument("this model makes vectors of texts: it has no classifier that scores pairs");
  if (!scores && model_->scores_pairs())
    throw std::invalid_argument("this model scores pairs of texts: it makes no vectors");
}

std::vector<std::vector<float>> text_encoder::vectors(std::span<const encoder_text> texts) {
  const auto embeddings = model_->embed(texts, workspace_);
  std::vector<std::vector<float>> result;
  for (std::int64_t row = 0; row < embeddings.rows(); ++row)
    result.emplace_back(embeddings[row].begin(), embeddings[row].end());
  return result;
}

}  // namespace cogen::nn
