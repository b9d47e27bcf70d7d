#pragma once

#include "api/field_reader.hpp"
#include "api/generation.hpp"

#include <cogen/request.hpp>

#include <optional>
#include <string>

namespace server::api {

/// The conversation in `messages`: contents are texts, or lists of parts that are texts; calls of tools carry their
/// arguments as JSON objects, as templates expect. Throws api::error.
cogen::chat_messages read_messages(const field_reader& body);

/// What all OpenAI's chats say of an answer, whose tools have to be set before: `tool_choice`, `parallel_tool_calls`,
/// `chat_template_kwargs` and the format.
void read_answer(const field_reader& body, cogen::request& request);

/// How much a model should reason, for a chat template that asks.
void set_effort(const std::optional<std::string>& effort, cogen::request& request);

/// `messages`, `add_generation_prompt`, `continue_final_message`, `tools`, `reasoning_effort` and what read_answer()
/// reads.
void read_chat(const field_reader& body, generation& wanted);

/// The log-probabilities that a chat asks for.
void read_chat_logprobs(const field_reader& body, cogen::request& request);

}  // namespace server::api
