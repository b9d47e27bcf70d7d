#include "plain_layer.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/detail/half.hpp>

#include <memory>

namespace cogen::test {
namespace {

float rounded(float number, cache::scalar type) {
  if (type == cache::scalar::f16) return f16_to_f32(f32_to_f16(number));
  return type == cache::scalar::bf16 ? bf16_to_f32(f32_to_bf16(number)) : number;
}

void round(const cache::head_rows& rows, cache::scalar type) {
  for (int head = 0; head < rows.heads; ++head)
    for (int token = 0; token < rows.tokens; ++token)
      for (int i = 0; i < rows.dims; ++i) rows.row(head, token)[i] = rounded(rows.row(head, token)[i], type);
}

}  // namespace

plain_layer::plain_layer(const cache::kv_cache_spec& shape, cache::scalar type, const cache::slot_table& slots)
    : layer(shape, type, slots), held_(static_cast<std::size_t>(slots.slots())) {
  for (int slot = 0; slot < slots.slots(); ++slot) clear(slot);
}

void plain_layer::append(const cache::step& step, const cache::head_rows& k, const cache::head_rows& v) {
  check_new(step, k, v);
  for (int row = 0; row < static_cast<int>(step.rows().size()); ++row) {
    const auto [slot, count, drafts] = step.rows()[static_cast<std::size_t>(row)];
    const int length = slots().length(slot);
    auto& held = held_[static_cast<std::size_t>(slot)];
    held = first_of(held, length, length + count);
    const auto add = [&, count = count](const cache::head_rows& fresh, const cache::head_rows& tokens) {
      copy_rows(fresh.tokens_from(step.first(row), count), tokens.tokens_from(length, count));
      round(tokens.tokens_from(length, count), type());
    };
    add(k, held.k);
    if (shape().latent_dim == 0) add(v, held.v);
  }
}

cache::keys_values plain_layer::first_of(const cache::keys_values& tokens, int count, int room) const {
  const auto result = cache::make_keys_values(shape().kv_heads, room, shape().head_dim, shape().latent_dim);
  copy_rows(tokens.k.tokens_from(0, count), result.k.tokens_from(0, count));
  copy_rows(tokens.v.tokens_from(0, count), result.v.tokens_from(0, count));
  return result;
}

cache::keys_values plain_layer::to_dense(int slot, int length) const {
  return first_of(held_[static_cast<std::size_t>(slot)], length, length);
}

void plain_layer::truncate(int slot, int length) { held_[static_cast<std::size_t>(slot)] = to_dense(slot, length); }

void plain_layer::clear(int slot) {
  held_[static_cast<std::size_t>(slot)] =
      cache::make_keys_values(shape().kv_heads, 0, shape().head_dim, shape().latent_dim);
}

cache::cache make_plain_cache(const std::vector<cache::kv_cache_spec>& shapes, int slots, cache::scalar type) {
  const auto make = [type](int, const cache::kv_cache_spec& shape, const cache::slot_table& table) {
    return std::make_unique<plain_layer>(shape, type, table);
  };
  return {shapes, {.kind = cache::cache_kind::dynamic, .type = type, .slots = slots}, make};
}

}  // namespace cogen::test
