#pragma once

#include <cogen/request.hpp>

#include <cstddef>

namespace cogen::detail {

/// About how many bytes a request's prompt has that is a text or a chat, with its tools and variables. Counts no
/// further than to `most`, which is then returned.
std::size_t prompt_bytes(const request& request, std::size_t most);

}  // namespace cogen::detail
