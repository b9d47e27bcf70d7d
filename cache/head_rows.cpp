#include <cogen/detail/cache/head_rows.hpp>

#include <algorithm>
#include <cstddef>

namespace cogen::cache {

keys_values make_keys_values(int kv_heads, int tokens, int head_dim, int latent_dim) {
  const std::int64_t numbers = std::int64_t{kv_heads} * tokens * head_dim;
  const auto size = static_cast<std::size_t>(latent_dim > 0 ? numbers : 2 * numbers);
  keys_values result{.k = {}, .v = {}, .memory = std::make_shared_for_overwrite<float[]>(size)};
  result.k = {.data = result.memory.get(),
              .heads = kv_heads,
              .tokens = tokens,
              .dims = head_dim,
              .head_stride = std::int64_t{tokens} * head_dim,
              .token_stride = head_dim};
  result.v = latent_dim > 0 ? result.k.first_dims(latent_dim) : result.k;
  if (latent_dim == 0) result.v.data += numbers;
  return result;
}

void copy_rows(const head_rows& source, const head_rows& target) {
  for (int head = 0; head < source.heads; ++head)
    for (int token = 0; token < source.tokens; ++token)
      std::copy_n(source.row(head, token), source.dims, target.row(head, token));
}

}  // namespace cogen::cache
