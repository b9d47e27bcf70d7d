#pragma once

#include "api/field_reader.hpp"
#include "api/sampling_fields.hpp"

#include <cogen/text/tokenizer.hpp>

namespace server::api {

/// A request of Anthropic's Messages API. `tokens` may be null. `needs_limit`: `max_tokens` has to be there. Throws
/// api::error.
generation read_message_request(const field_reader& body, const sender& client, const route_defaults& otherwise,
                                const cogen::text::tokenizer* tokens, bool needs_limit);

}  // namespace server::api
