#pragma once

#include <cogen/text/chat_template.hpp>

#include <span>

namespace cogen::text {

/// Throws template_error for a message whose role is none of system, user, assistant and tool if the template writes
/// nothing of it.
void check_roles(std::span<const chat_message> messages, const chat_template& chat,
                 const template_options& options = {});

}  // namespace cogen::text
