#pragma once

#include <cogen/cache/cache.hpp>

#include <memory>
#include <span>
#include <vector>

namespace cogen::cache {

/// Lengths of the slots, and of their encoder inputs.
struct slot_tables {
  const slot_table& slots;
  const slot_table& encoder_inputs;
};

/// Throws std::invalid_argument, naming it.
void check(std::span<const kv_cache_spec> shapes, const options& options);

/// The layers of one cache, each of the kind that its shape and the options require, or that `own` makes.
std::vector<std::unique_ptr<layer>> make_layers(std::span<const kv_cache_spec> shapes, const options& options,
                                                const slot_tables& tables, const layer_factory& own);

}  // namespace cogen::cache
