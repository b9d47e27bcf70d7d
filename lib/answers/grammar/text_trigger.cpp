#include "answers/grammar/text_trigger.hpp"

#include <algorithm>

namespace cogen::grammar {

text_trigger::text_trigger(std::vector<std::string> texts, const text::tokenizer& tokens, const control_tokens& spelled)
    : texts_(std::move(texts)), tokens_(&tokens) {
  for (const auto& [text, id] : spelled) spelled_.emplace(id, text);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (const auto text = spelling(static_cast<token>(i)); !text.empty()) add_completions(static_cast<token>(i), text);
}

std::string_view text_trigger::spelling(token id) const {
  if (!tokens_->is_special(id)) return tokens_->token_bytes(id);
  const auto found = spelled_.find(id);
  return found == spelled_.end() ? std::string_view() : found->second;
}

void text_trigger::add_completions(token id, std::string_view spelled) {
  for (std::size_t which = 0; which < texts_.size(); ++which) {
    const std::string_view text = texts_[which];
    if (const auto position = spelled.find(text); position != std::string_view::npos)
      completions_[{which, 0}].push_back({id, {which, spelled.size() - position - text.size()}});
    for (std::size_t prefix = 1; prefix < text.size(); ++prefix)
      if (const auto rest = text.substr(prefix); spelled.starts_with(rest))
        completions_[{which, prefix}].push_back({id, {which, spelled.size() - rest.size()}});
  }
}

std::optional<text_trigger::match> text_trigger::find(std::string_view text) const {
  std::optional<match> first;
  std::size_t first_end = 0;
  for (std::size_t which = 0; which < texts_.size(); ++which) {
    const auto position = text.find(texts_[which]);
    if (position == std::string_view::npos) continue;
    const auto end = position + texts_[which].size();
    if (!first || end < first_end) first = {which, text.size() - end}, first_end = end;
  }
  return first;
}

std::optional<text_trigger::match> text_trigger::step(std::string& tail, token next) const {
  const auto combined = tail + std::string(spelling(next));
  tail.clear();
  if (const auto found = find(combined)) return found;
  for (const auto& text : texts_)
    for (auto length = std::min(text.size() - 1, combined.size()); length > tail.size(); --length)
      if (combined.ends_with(std::string_view(text).substr(0, length))) tail = text.substr(0, length);
  return std::nullopt;
}

std::vector<text_trigger::completion> text_trigger::completions(std::string_view tail) const {
  std::vector<completion> result;
  for (const auto& [where, found] : completions_)
    if (tail.ends_with(std::string_view(texts_[where.first]).substr(0, where.second)))
      result.insert(result.end(), found.begin(), found.end());
  return result;
}

}  // namespace cogen::grammar
