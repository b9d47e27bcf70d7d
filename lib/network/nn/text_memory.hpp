#pragma once

#include "network/models/model_spec.hpp"

#include <cogen/detail/cache/kv_cache_spec.hpp>

#include <optional>
#include <vector>

namespace cogen::nn {

/// The heads that all layers of a model with a pooling have, whose texts are read with one layer's memory. Throws
/// std::invalid_argument if layers differ, or mix tokens otherwise than by attention.
std::optional<cache::kv_cache_spec> text_memory_of(const models::model_spec& spec);

/// What an engine's cache holds. Nothing is cached for a model that does not generate; as a cache has one layer at
/// least, it is a state of one number, which nothing reads.
std::vector<cache::kv_cache_spec> cached_layers_of(const models::model_spec& spec);

}  // namespace cogen::nn
