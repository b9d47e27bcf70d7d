#include "answers/response/response_template.hpp"
#include "engine/chat_encoder.hpp"
#include "engine/runner/diagnostics_of.hpp"

#include <cogen/model.hpp>
#include <cogen/request.hpp>

#include <stdexcept>
#include <utility>
#include <variant>

namespace cogen {
namespace {

/// As the engine: without a response_template that can be read, calls keep their ids.
response::call_id_syntax call_id_of(const model& model) try {
  return model.has_tokenizer() ? detail::call_id_of(response::syntax_of(model.tokenizer()))
                               : response::call_id_syntax();
} catch (const std::invalid_argument&) {
  return {};
}

}  // namespace

rendered_prompt render_prompt(const model& model, const request& request) try {
  const auto* messages = std::get_if<chat_messages>(&request.prompt);
  if (!messages) throw std::invalid_argument("the prompt is not a chat");
  const detail::chat_encoder chats{.tokenizer = model.has_tokenizer() ? &model.tokenizer() : nullptr,
                                   .chat = model.chat(),
                                   .chat_error = model.chat_error(),
                                   .call_id = call_id_of(model)};
  auto prompt = chats.encode(*messages, request);
  return {prompt.text(), std::move(prompt.tokens)};
} catch (...) {
  throw generation_error(detail::diagnostics_of(std::current_exception()));
}

}  // namespace cogen
