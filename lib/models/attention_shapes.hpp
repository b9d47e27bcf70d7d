#pragma once

#include <cogen/cache/kv_cache_spec.hpp>
#include <cogen/load/model_config.hpp>

namespace cogen::models {

/// What a layer caches that attends to every earlier token.
cache::kv_cache_spec full_layer(const load::model_config& config);

/// What a layer caches that attends to the last config.sliding_window tokens. A window that covers all positions of the
/// model counts as none.
cache::kv_cache_spec sliding_layer(const load::model_config& config);

}  // namespace cogen::models
