#pragma once

#include "models/model_spec.hpp"

#include <cogen/load/checkpoint.hpp>
#include <cogen/load/model_config.hpp>
#include <cogen/load_model.hpp>

namespace cogen::nn {

/// What a file's model computes as the options want it: with a layer for multi-token prediction or without. Throws
/// std::invalid_argument if there is none, or the device does not run it; and as models::family_named() and what it
/// returns.
models::model_spec wanted_spec(const load::checkpoint& files, const load::model_config& config,
                               const load_options& options);

}  // namespace cogen::nn
