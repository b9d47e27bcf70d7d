#pragma once

#include "api/field_reader.hpp"
#include "api/generation.hpp"

#include <cogen/request.hpp>

namespace server::api {

/// The conversation in `messages`: contents are texts, or lists of parts that are texts; calls of tools carry their
/// arguments as JSON objects, as templates expect. Throws api::error.
cogen::chat_messages read_messages(const field_reader& body);

/// The text of a `content`: a string, or an array of parts with `type` "text" and a `text`; empty if it is missing.
std::string read_content(const field_reader& message);

/// `messages`, `add_generation_prompt`, `continue_final_message`, `tools`, `tool_choice`, `chat_template_kwargs`,
/// `reasoning_effort` and the format of a chat.
void read_chat(const field_reader& body, generation& into);

/// The log-probabilities that a chat asks for.
void read_chat_logprobs(const field_reader& body, cogen::request& into);

}  // namespace server::api
