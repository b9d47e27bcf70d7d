#pragma once

#include "api/field_reader.hpp"

#include <cstdint>

namespace server::api {

/// Whose fields.
enum class field_set : std::uint8_t { generation, completions, chat, responses, messages, embeddings, rerank };

/// Throws api::error for a field that OpenAI's, Anthropic's, vLLM's or llama-server's reference has, that would change
/// the answer, and that this server does not keep, unless its value asks for nothing.
void check_unsupported(const field_reader& body, field_set which);

}  // namespace server::api
