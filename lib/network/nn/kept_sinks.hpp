#pragma once

#include "network/models/model_spec.hpp"

namespace cogen::nn {

/// Whether a cache of the model can have sinks, which layers of full attention then keep: keys that are normed after
/// they are rotated cannot be turned again.
bool keeps_sinks(const models::model_spec& spec);

/// Throws std::invalid_argument for a cache that cannot.
[[noreturn]] void refuse_sinks();

}  // namespace cogen::nn
