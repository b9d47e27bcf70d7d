#pragma once

#include <cogen/engine_options.hpp>

namespace cogen::detail {

/// Throws std::invalid_argument, with the option, its value and its limit, if an option makes no sense for any model.
void check(const engine_options& options);

}  // namespace cogen::detail
