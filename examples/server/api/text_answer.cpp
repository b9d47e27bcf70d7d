#include "api/text_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace server::api {

namespace json = boost::json;

/// The token's text; as OpenAI writes it, its bytes where it is only part of a character.
std::string text_logprobs::spelling(cogen::token id) const {
  const auto bytes = vocabulary_->token_bytes(id);
  auto text = vocabulary_->token_text(id);
  if (text == bytes || text.find("\xEF\xBF\xBD") == std::string::npos) return text;
  std::string result = "bytes:";
  for (const char byte : bytes) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return result;
}

json::object text_logprobs::describe(std::span<const cogen::sampled_token> tokens, bool first_is_prompt) {
  json::array texts, logprobs, tops, offsets;
  for (const auto& each : tokens) {
    const bool has_none = first_is_prompt && texts.empty();
    texts.emplace_back(spelling(each.id));
    offsets.push_back(offset_);
    offset_ += vocabulary_->token_bytes(each.id).size();
    if (has_none) {
      logprobs.push_back(nullptr);
      tops.push_back(nullptr);
      continue;
    }
    logprobs.push_back(each.logprob);
    json::object top;
    for (const auto& other : each.top) top.emplace(spelling(other.id), other.logprob);
    top.emplace(spelling(each.id), each.logprob);
    tops.push_back(std::move(top));
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

double mean_logprob(const cogen::completion& answer) {
  if (answer.tokens.empty()) return -std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const auto& each : answer.tokens) sum += each.logprob;
  return sum / static_cast<double>(answer.tokens.size());
}

}  // namespace server::api
