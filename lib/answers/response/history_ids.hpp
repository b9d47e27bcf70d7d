#pragma once

#include "answers/response/response_syntax.hpp"

#include <cogen/text/chat_template.hpp>

#include <span>
#include <vector>

namespace cogen::response {

/// The messages with ids of calls, in `tool_calls` and `tool_call_id`, in the form that chat templates insist on: one
/// of another form becomes one made of it, the same each time. A call without an id gets one, and a result without one
/// that of the next call that has no result yet.
std::vector<text::chat_message> with_call_ids(std::span<const text::chat_message> messages,
                                              const call_id_syntax& syntax);

}  // namespace cogen::response
