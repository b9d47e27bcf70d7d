#pragma once

#include "http/request.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace server::http {

/// What stands for the `{names}` of a pattern such as "/slots/{id}", where a path matches it. `{name...}` at the end
/// takes the rest of the path, with its slashes.
std::optional<std::vector<std::pair<std::string, std::string>>> matched(std::string_view pattern,
                                                                        std::string_view path);

}  // namespace server::http
