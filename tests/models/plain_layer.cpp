#include "plain_layer.hpp"

#include <cogen/cache/cache.hpp>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <memory>

namespace cogen::test {

plain_layer::plain_layer(const cache::kv_cache_spec& shape, cache::scalar type, const cache::slot_table& slots)
    : layer(shape, type, slots), held_(static_cast<std::size_t>(slots.slots())) {
  for (int slot = 0; slot < slots.slots(); ++slot) clear(slot);
}

void plain_layer::append(const cache::step& step, const at::Tensor& k, const at::Tensor& v) {
  for (int row = 0; row < static_cast<int>(step.rows().size()); ++row) {
    const auto [slot, count, drafts] = step.rows()[static_cast<std::size_t>(row)];
    auto& held = held_[static_cast<std::size_t>(slot)];
    const auto joined = [&](const at::Tensor& old, const at::Tensor& fresh) {
      const auto mine = fresh.narrow(0, step.first(row), count).transpose(0, 1).to(cache::tensor_type(type()));
      return at::cat({old.narrow(1, 0, slots().length(slot)), mine}, 1);
    };
    held = {.k = joined(held.k, k), .v = joined(held.v, v)};
  }
}

cache::keys_values plain_layer::to_dense(int slot, int length) const {
  const auto& held = held_[static_cast<std::size_t>(slot)];
  return {.k = held.k.narrow(1, 0, length).clone(), .v = held.v.narrow(1, 0, length).clone()};
}

void plain_layer::truncate(int slot, int length) { held_[static_cast<std::size_t>(slot)] = to_dense(slot, length); }

void plain_layer::clear(int slot) {
  const auto nothing = at::empty({shape().kv_heads, 0, shape().head_dim}, cache::tensor_type(type()));
  held_[static_cast<std::size_t>(slot)] = {.k = nothing, .v = nothing.narrow(2, 0, shape().value_dim())};
}

cache::cache make_plain_cache(const std::vector<cache::kv_cache_spec>& shapes, int slots, cache::scalar type) {
  const auto make = [type](int, const cache::kv_cache_spec& shape, const cache::slot_table& table) {
    return std::make_unique<plain_layer>(shape, type, table);
  };
  return {shapes, {.kind = cache::cache_kind::dynamic, .type = type, .slots = slots}, make};
}

}  // namespace cogen::test
