#pragma once

#include <cogen/detail/cache/kv_cache_spec.hpp>

#include <functional>
#include <memory>

namespace cogen::cache {

class layer;
class slot_table;

/// Makes a custom layer for layer number `index`, or returns null for the kind that the options name.
using layer_factory =
    std::function<std::unique_ptr<layer>(int index, const kv_cache_spec& shape, const slot_table& slots)>;

}  // namespace cogen::cache
