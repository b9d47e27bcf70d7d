#pragma once

#include "api/field_reader.hpp"
#include "api/sampling_fields.hpp"

#include <cogen/text/tokenizer.hpp>

namespace server::api {

/// A request of OpenAI's Responses API. Nothing is stored: a request carries the whole conversation. `tokens` may be
/// null. Throws api::error.
generation read_response_request(const field_reader& body, const sender& client, const route_defaults& otherwise,
                                 const cogen::text::tokenizer* tokens);

}  // namespace server::api
