#pragma once

#include "kernels/activation_kind.hpp"

#include <string_view>

namespace cogen::layers {

/// The function of a name that load::model_config::activation may have. Throws std::invalid_argument for others.
kernels::activation activation_named(std::string_view name);

}  // namespace cogen::layers
