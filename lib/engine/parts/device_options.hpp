#pragma once

#include <cogen/engine_options.hpp>

namespace cogen::nn {
struct device_model;
}

namespace cogen::detail {

/// Checks what engines on this device do not support. Throws std::invalid_argument with the option, its value and its
/// limit.
void check_on_device(const engine_options& options, const nn::device_model& model);

}  // namespace cogen::detail
