#include "engine/chat_encoder.hpp"
#include "response/families.hpp"
#include "runner/diagnostics_of.hpp"

#include <cogen/model.hpp>
#include <cogen/render_prompt.hpp>

#include <stdexcept>
#include <utility>
#include <variant>

namespace cogen {
namespace {

response::call_id_syntax call_id_of(const model& model) {
  if (!model.has_tokenizer()) return {};
  const auto syntax = response::syntax_of_template(model.tokenizer().chat_template());
  return syntax.calls ? syntax.calls->id : response::call_id_syntax();
}

}  // namespace

rendered_prompt render_prompt(const model& model, const request& what) try {
  const auto* messages = std::get_if<chat_messages>(&what.prompt);
  if (!messages) throw std::invalid_argument("the prompt is no chat");
  const detail::chat_encoder chats{.tokenizer = model.has_tokenizer() ? &model.tokenizer() : nullptr,
                                   .chat = model.chat(),
                                   .chat_error = model.chat_error(),
                                   .call_id = call_id_of(model)};
  auto prompt = chats.encode(*messages, what);
  return {prompt.text(), std::move(prompt.tokens)};
} catch (...) {
  throw generation_error(detail::diagnostics_of(std::current_exception()));
}

}  // namespace cogen
