#pragma once

#include <cogen/cache/cache.hpp>

#include <memory>
#include <span>
#include <vector>

namespace cogen::cache {

/// The layers of one cache, each of the kind that its shape and the options ask for, or that `own` makes.
std::vector<std::unique_ptr<layer>> make_layers(std::span<const layer_shape> shapes, const options& options,
                                                const slot_table& table, const layer_factory& own);

}  // namespace cogen::cache
