#include "engine/token_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::detail {
namespace {

constexpr float never = -std::numeric_limits<float>::infinity();

void check_words(const std::vector<std::string>& words) {
  if (words.size() > request::max_bad_words)
    throw std::invalid_argument(
        fmt::format("bad_words has {} texts; it may have {}", words.size(), request::max_bad_words));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty()) throw std::invalid_argument(fmt::format("bad_words[{}] is empty", i));
    bytes += words[i].size();
  }
  if (bytes > request::max_bad_word_bytes)
    throw std::invalid_argument(
        fmt::format("bad_words has {} bytes; it may have {}", bytes, request::max_bad_word_bytes));
}

void check_allowed(const std::vector<token>& ids, int vocabulary) {
  if (std::ssize(ids) > vocabulary)
    throw std::invalid_argument(
        fmt::format("allowed_token_ids has {} tokens; the vocabulary has {}", ids.size(), vocabulary));
  for (const token id : ids)
    if (id < 0 || id >= vocabulary)
      throw std::invalid_argument(
          fmt::format("allowed_token_ids has token {}; the vocabulary ends at {}", id, vocabulary - 1));
}

}  // namespace

void check_token_filter(const request& request, int vocabulary) {
  check_words(request.bad_words);
  check_allowed(request.allowed_token_ids, vocabulary);
}

token_filter::token_filter(const request& request, const text::tokenizer* tokens, int vocabulary)
    : forbidden_(static_cast<std::size_t>(vocabulary), !request.allowed_token_ids.empty()) {
  for (const token id : request.allowed_token_ids) forbidden_[static_cast<std::size_t>(id)] = false;
  if (!request.bad_words.empty() && !tokens)
    throw std::invalid_argument("bad_words are texts, and this engine has no tokenizer");
  for (const auto& each : request.bad_words) add_word(each, *tokens);
  if (std::ranges::find(forbidden_, false) == forbidden_.end())
    throw std::invalid_argument(
        fmt::format("bad_words and allowed_token_ids forbid all {} tokens of the vocabulary", vocabulary));
}

/// As vLLM: with a space in front only where that is another first token, of a word of as many.
void token_filter::add_word(std::string_view word, const text::tokenizer& tokens) {
  word.remove_prefix(std::min(word.find_first_not_of(" \t\n\r\v\f"), word.size()));
  auto plain = tokens.encode(word);
  auto spaced = tokens.encode(" " + std::string(word));
  const bool is_other = !plain.empty() && spaced.size() == plain.size() && spaced.front() != plain.front();
  if (is_other || plain.empty()) add(std::move(spaced));
  add(std::move(plain));
}

void token_filter::add(token_ids word) {
  if (word.size() > 1)
    words_.push_back(std::move(word));
  else if (!word.empty() && word.front() < std::ssize(forbidden_))
    forbidden_[static_cast<std::size_t>(word.front())] = true;
}

void token_filter::apply(std::span<const token> generated, std::span<float> logits) const noexcept {
  for (std::size_t i = 0; i < std::min(logits.size(), forbidden_.size()); ++i)
    if (forbidden_[i]) logits[i] = never;
  for (const auto& each : words_) {
    const auto prefix = std::span(each).first(each.size() - 1);
    const auto last = static_cast<std::size_t>(each.back());
    if (generated.size() < prefix.size() || last >= logits.size()) continue;
    if (std::ranges::equal(generated.last(prefix.size()), prefix)) logits[last] = never;
  }
}

std::shared_ptr<const sampling_params> filtered_sampling(const std::shared_ptr<const request>& request,
                                                         std::size_t prompt, const text::tokenizer* tokens,
                                                         int vocabulary) {
  if (!filters_tokens(*request)) return {request, &request->sampling};
  auto filter = std::make_shared<const token_filter>(*request, tokens, vocabulary);
  auto params = std::make_shared<sampling_params>(request->sampling);
  params->processor = [own = request->sampling.processor, filter, prompt](std::span<const token> history,
                                                                          std::span<float> logits) {
    if (own) own(history, logits);
    filter->apply(history.subspan(std::min(prompt, history.size())), logits);
  };
  return params;
}

}  // namespace cogen::detail
