#pragma once

#include <cogen/cache/kv_cache_spec.hpp>

#include <functional>
#include <memory>

namespace cogen::cache {

class layer;
class slot_table;

/// Makes the layer of number `index` in a kind of your own, or returns null for the kind that the options say.
using layer_factory =
    std::function<std::unique_ptr<layer>(int index, const kv_cache_spec& shape, const slot_table& slots)>;

}  // namespace cogen::cache
