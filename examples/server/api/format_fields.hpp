#pragma once

#include "api/field_reader.hpp"

#include <cogen/response_format.hpp>

#include <optional>

namespace server::api {

/// What the text has to look like, in the words of any API: OpenAI's `response_format` and `text.format`, Anthropic's
/// `output_config.format` and `output_format`, vLLM's `structured_outputs` and `guided_*`, llama.cpp's `json_schema`
/// and `grammar`, SGLang's `regex` and `ebnf`. Empty: anything. Throws api::error for a wrong field, for two formats,
/// and for what asks for a format in words that are not known.
std::optional<cogen::response_format> read_format(const field_reader& body);

}  // namespace server::api
