#include "view_rows.hpp"

#include "numbers.hpp"

namespace cogen::cache {

kv_view view_over(const layer& layer, const block_part& part, std::int64_t block_stride) {
  return {.type = layer.type(),
          .kv_heads = layer.shape().kv_heads,
          .head_dim = layer.shape().head_dim,
          .latent_dim = layer.shape().latent_dim,
          .span = layer.span(),
          .block_stride = block_stride,
          .head_stride = part.head_stride,
          .value_offset = part.value_offset};
}

void write_tokens(const kv_view& view, int begin, const head_rows& k, const head_rows& v) {
  for (int token = 0; token < k.tokens; ++token)
    for (int head = 0; head < view.kv_heads; ++head) {
      store_numbers(view.type, k.row(head, token), k.dims, view.key(begin + token, head), block_tokens);
      if (view.latent_dim == 0) store_numbers(view.type, v.row(head, token), v.dims, view.value(begin + token, head));
    }
}

void write_step(const layer& layer, const step& step, const head_rows& k, const head_rows& v) {
  for (std::size_t i = 0; i < step.rows().size(); ++i) {
    const auto [slot, count, drafts] = step.rows()[i];
    const int length = layer.slots().length(slot);
    const int first = step.first(static_cast<int>(i));
    write_tokens(*layer.view(slot, length + count), length, k.tokens_from(first, count), v.tokens_from(first, count));
  }
}

void read_tokens(const kv_view& view, int begin, int end, const head_rows& k, const head_rows& v) {
  for (int position = begin; position < end; ++position)
    for (int head = 0; head < view.kv_heads; ++head) {
      load_numbers(view.type, view.key(position, head), k.dims, k.row(head, position - begin), block_tokens);
      if (view.latent_dim == 0)
        load_numbers(view.type, view.value(position, head), v.dims, v.row(head, position - begin));
    }
}

keys_values read_tokens(const kv_view& view, int begin, int end) {
  const keys_values tokens = make_keys_values(view.kv_heads, end - begin, view.head_dim, view.latent_dim);
  read_tokens(view, begin, end, tokens.k, tokens.v);
  return tokens;
}

}  // namespace cogen::cache
