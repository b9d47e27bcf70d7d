#include "concat_layer.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

namespace cogen::cache::test {

concat_layer::concat_layer(const kv_cache_spec& shape, scalar type, const slot_table& table, int max_sequence_length)
    : layer(shape, type, table), max_sequence_length_(max_sequence_length) {
  for (int slot = 0; slot < table.slots(); ++slot) held_.push_back(nothing());
}

keys_values concat_layer::nothing() const {
  const at::Tensor none = at::zeros({shape().kv_heads, 0, shape().head_dim}, tensor_type(type()));
  return {.k = none, .v = none.narrow(2, 0, shape().value_dim())};
}

void concat_layer::append(const step& step, const at::Tensor& k, const at::Tensor& v) {
  check_new(step, k, v);
  for (std::size_t i = 0; i < step.rows().size(); ++i) {
    const auto [slot, count, drafts] = step.rows()[i];
    const int first = step.first(static_cast<int>(i));
    const auto grown = [&](const at::Tensor& old, const at::Tensor& added) {
      const at::Tensor rows = added.narrow(0, first, count).transpose(0, 1).to(tensor_type(type()));
      return at::cat({old.narrow(1, 0, slots().length(slot)), rows}, 1);
    };
    keys_values& held = held_.at(static_cast<std::size_t>(slot));
    held = {.k = grown(held.k, k), .v = grown(held.v, v)};
  }
}

keys_values concat_layer::to_dense(int slot, int length) const {
  const keys_values& held = held_.at(static_cast<std::size_t>(slot));
  return {.k = held.k.narrow(1, 0, length).clone(), .v = held.v.narrow(1, 0, length).clone()};
}

void concat_layer::truncate(int slot, int length) { held_.at(static_cast<std::size_t>(slot)) = to_dense(slot, length); }

void concat_layer::clear(int slot) { held_.at(static_cast<std::size_t>(slot)) = nothing(); }

}  // namespace cogen::cache::test
