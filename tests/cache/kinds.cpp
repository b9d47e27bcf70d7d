#include "kinds.hpp"

#include "concat_layer.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

namespace cogen::cache::test {
namespace {

kind built_in(std::string name, cache_kind which, scalar type) {
  const auto make = [=](std::span<const layer_shape> shapes, int slots, int max_length) {
    return cache(shapes, {.kind = which, .type = type, .slots = slots, .max_length = max_length});
  };
  return {.name = std::move(name), .type = type, .in_place = true, .make = make};
}

kind own(std::string name, scalar type) {
  const auto make = [=](std::span<const layer_shape> shapes, int slots, int max_length) {
    const auto concat = [=](int, const layer_shape& shape, const slot_table& table) {
      return std::make_unique<concat_layer>(shape, type, table, max_length);
    };
    return cache(shapes, {.type = type, .slots = slots, .max_length = max_length}, concat);
  };
  return {.name = std::move(name), .type = type, .in_place = false, .make = make};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const kind& kind) { return out << kind.name; }

const std::vector<kind>& kinds() {
  static const std::vector<kind> all{
      built_in("static f32", cache_kind::static_, scalar::f32),
      built_in("static f16", cache_kind::static_, scalar::f16),
      built_in("static bf16", cache_kind::static_, scalar::bf16),
      built_in("dynamic f32", cache_kind::dynamic, scalar::f32),
      built_in("dynamic f16", cache_kind::dynamic, scalar::f16),
      built_in("dynamic bf16", cache_kind::dynamic, scalar::bf16),
      own("own f32", scalar::f32),
      own("own bf16", scalar::bf16),
  };
  return all;
}

std::vector<kind> kinds_in_place() {
  std::vector<kind> some;
  std::copy_if(kinds().begin(), kinds().end(), std::back_inserter(some), [](const kind& one) { return one.in_place; });
  return some;
}

std::span<const layer_shape> mixed_shapes() {
  static const layer_shape shapes[] = {
      {.kv_heads = 2, .head_dim = 8}, {.kv_heads = 1, .head_dim = 16}, {.kv_heads = 3, .head_dim = 5}};
  return shapes;
}

}  // namespace cogen::cache::test
