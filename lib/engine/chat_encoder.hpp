#pragma once

#include "answers/response/response_syntax.hpp"
#include "formats/text/chat_prompt.hpp"

#include <cogen/request.hpp>

#include <cstddef>
#include <limits>
#include <string>

namespace cogen::detail {

inline constexpr auto no_tokenizer = "the prompt is text, and this engine has no tokenizer";

/// That of the calls, if the model writes any.
inline response::call_id_syntax call_id_of(const response::response_syntax& syntax) {
  return syntax.calls ? syntax.calls->id : response::call_id_syntax();
}

/// Makes prompts of chats. Refers to the parts of a model.
struct chat_encoder {
  const text::tokenizer* tokenizer;
  const text::chat_template* chat;
  const std::string& chat_error;       ///< why the model's template is not supported; empty otherwise
  response::call_id_syntax call_id{};  ///< of the calls in a history
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();  ///< see text::encode_options

  /// The prompt of the request's chat. Throws std::invalid_argument if there is no tokenizer or template, and for what
  /// the template refuses.
  text::encoded_chat encode(const chat_messages& messages, const request& request) const;
};

}  // namespace cogen::detail
