#pragma once

#include "api/field_reader.hpp"

#include <cogen/response_format.hpp>

#include <optional>

namespace server::api {

/// What the text has to look like: OpenAI's `response_format`, vLLM's `structured_outputs` and `guided_*`, llama.cpp's
/// `json_schema` and `grammar`. Empty: anything. Throws api::error for a wrong field, and for two formats.
std::optional<cogen::response_format> read_format(const field_reader& body);

}  // namespace server::api
