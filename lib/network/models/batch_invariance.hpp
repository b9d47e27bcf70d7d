#pragma once

#include "network/models/model_spec.hpp"

#include <optional>
#include <string_view>

namespace cogen::models {

/// The first part, as an error message names it, whose sums depend on the number of rows where LibTorch's operators
/// compute it, and which has no kernel on a GPU; none if engines there can be batch-invariant.
std::optional<std::string_view> batch_variant_part(const model_spec& spec);

}  // namespace cogen::models
