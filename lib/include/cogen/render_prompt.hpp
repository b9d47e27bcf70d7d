#pragma once

#include <cogen/fwd.hpp>
#include <cogen/request.hpp>
#include <cogen/token.hpp>

#include <string>
#include <vector>

namespace cogen {

/// A chat as engines read it.
struct rendered_prompt {
  std::string text;           ///< what the chat template writes
  std::vector<token> tokens;  ///< names of control tokens in a message's content are text
};

/// The prompt that an engine over this model makes of a request's messages, tools and chat_template_kwargs, calls with
/// the ids that its family insists on. Throws generation_error with error::invalid_request where the engine refuses
/// them, and for a prompt that is not a chat.
rendered_prompt render_prompt(const model& model, const request& request);

}  // namespace cogen
