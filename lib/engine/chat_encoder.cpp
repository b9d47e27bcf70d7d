#include "engine/chat_encoder.hpp"

#include "answers/response/history_ids.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace cogen::detail {
namespace {

std::string no_chat(const std::string& why) {
  if (why.empty()) return "the prompt is a chat, and the model brings no chat template: give plain text or tokens";
  return fmt::format("the prompt is a chat, and the model's chat template is not understood: {}", why);
}

void check_continued(const chat_messages& messages) {
  if (messages.empty() || messages.back().role != "assistant")
    throw std::invalid_argument(
        fmt::format("continue_final_message is set, and the last message is {}; it must be from assistant",
                    messages.empty() ? "missing" : "from " + messages.back().role));
}

}  // namespace

text::encoded_chat chat_encoder::encode(const chat_messages& messages, const request& request) const {
  if (!chat) throw std::invalid_argument(no_chat(chat_error));
  if (!tokenizer) throw std::invalid_argument(no_tokenizer);
  if (request.continue_final_message) check_continued(messages);
  const auto encode_all = [&](const chat_messages& turns) {
    return text::encode_chat(turns, text::template_variables(*request.tools, *request.chat_template_kwargs), *chat,
                             *tokenizer, request.continue_final_message, max_tokens);
  };
  return call_id.length > 0 ? encode_all(response::with_call_ids(messages, call_id)) : encode_all(messages);
}

}  // namespace cogen::detail
