#pragma once

#include "network/models/model_spec.hpp"
#include "network/parallel/place.hpp"

#include <cogen/load/checkpoint.hpp>
#include <cogen/load/model_config.hpp>
#include <cogen/load_model.hpp>

namespace cogen::nn {

/// What a file's model computes as the options want it: with a layer for multi-token prediction or without. Throws
/// std::invalid_argument if there is none, or the device does not run it; and as models::family_named() and what it
/// returns.
models::model_spec wanted_spec(const load::checkpoint& files, const load::model_config& config,
                               const load_options& options);

/// The part of a spec that one rank has: of a stage's blocks, its shards. Throws what models::stage_of() throws.
models::model_spec spec_of_rank(const models::model_spec& whole, const load::checkpoint& files,
                                const load::model_config& config, parallel::place tensor, parallel::place stage);

}  // namespace cogen::nn
