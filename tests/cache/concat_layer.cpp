#include "concat_layer.hpp"

#include <cogen/detail/half.hpp>

namespace cogen::cache::test {
namespace {

float as_stored(scalar type, float number) {
  if (type == scalar::f16) return f16_to_f32(f32_to_f16(number));
  if (type == scalar::bf16) return bf16_to_f32(f32_to_bf16(number));
  return number;
}

void write_as_stored(scalar type, const head_rows& source, const head_rows& target) {
  for (int head = 0; head < source.heads; ++head)
    for (int token = 0; token < source.tokens; ++token)
      for (int dim = 0; dim < source.dims; ++dim)
        target.row(head, token)[dim] = as_stored(type, source.row(head, token)[dim]);
}

}  // namespace

concat_layer::concat_layer(const kv_cache_spec& shape, scalar type, const slot_table& table, int max_sequence_length)
    : layer(shape, type, table), max_sequence_length_(max_sequence_length) {
  for (int slot = 0; slot < table.slots(); ++slot) held_.push_back(room_for(0));
}

keys_values concat_layer::room_for(int tokens) const {
  return make_keys_values(shape().kv_heads, tokens, shape().head_dim, shape().latent_dim);
}

/// And room for `more`.
keys_values concat_layer::first_tokens(int slot, int length, int more) const {
  const keys_values& held = held_.at(static_cast<std::size_t>(slot));
  const keys_values first = room_for(length + more);
  copy_rows(held.k.tokens_from(0, length), first.k.tokens_from(0, length));
  copy_rows(held.v.tokens_from(0, length), first.v.tokens_from(0, length));
  return first;
}

void concat_layer::append(const step& step, const head_rows& k, const head_rows& v) {
  check_new(step, k, v);
  for (std::size_t i = 0; i < step.rows().size(); ++i) {
    const auto [slot, count, drafts] = step.rows()[i];
    const int first = step.first(static_cast<int>(i)), length = slots().length(slot);
    const keys_values grown = first_tokens(slot, length, count);
    write_as_stored(type(), k.tokens_from(first, count), grown.k.tokens_from(length, count));
    if (shape().latent_dim == 0)
      write_as_stored(type(), v.tokens_from(first, count), grown.v.tokens_from(length, count));
    held_.at(static_cast<std::size_t>(slot)) = grown;
  }
}

keys_values concat_layer::to_dense(int slot, int length) const { return first_tokens(slot, length, 0); }

void concat_layer::truncate(int slot, int length) {
  held_.at(static_cast<std::size_t>(slot)) = first_tokens(slot, length, 0);
}

void concat_layer::clear(int slot) { held_.at(static_cast<std::size_t>(slot)) = room_for(0); }

}  // namespace cogen::cache::test
