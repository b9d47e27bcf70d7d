#include "api/rendering.hpp"

#include "api/error.hpp"

#include <cogen/model.hpp>
#include <cogen/text/chat_roles.hpp>

namespace server::api {

std::string render(const served_model& model, const cogen::request& chat) {
  const auto* rules = model.model->chat();
  if (!rules)
    throw invalid("messages", model.model->chat_error().empty()
                                  ? "the model has no chat template"
                                  : "the model's chat template is not understood: " + model.model->chat_error());
  const auto& tokens = model.tokenizer();
  cogen::text::template_options options{.continue_final_message = chat.continue_final_message,
                                        .extra = chat.chat_template_kwargs};
  if (const auto bos = tokens.bos()) options.bos = tokens.token_text(*bos);
  if (const auto eos = tokens.eos(); !eos.empty()) options.eos = tokens.token_text(eos.front());
  if (!chat.tools.empty()) options.extra["tools"] = chat.tools;
  try {
    const auto& messages = std::get<cogen::chat_messages>(chat.prompt);
    cogen::text::check_roles(messages, *rules, options);
    return rules->render(messages, options);
  } catch (const cogen::text::template_error& e) {
    throw invalid("messages", e.what());
  }
}

}  // namespace server::api
