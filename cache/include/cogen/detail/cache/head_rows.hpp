#pragma once

#include <cstdint>
#include <memory>

namespace cogen::cache {

/// Keys or values of some tokens, [heads, tokens, dims] float32 in host memory: the numbers of one head and token lie
/// side by side, the row of head h and token t begins at data + h * head_stride + t * token_stride. Does not own them.
struct head_rows {
  float* data = nullptr;
  int heads = 0;
  int tokens = 0;
  int dims = 0;
  std::int64_t head_stride = 0;
  std::int64_t token_stride = 0;

  /// Its `dims` numbers.
  float* row(int head, int token) const { return data + head * head_stride + token * token_stride; }

  /// Tokens [first, first + count).
  head_rows tokens_from(int first, int count) const {
    return {row(0, first), heads, count, dims, head_stride, token_stride};
  }

  /// The first `count` numbers of each row.
  head_rows first_dims(int count) const { return {data, heads, tokens, count, head_stride, token_stride}; }
};

/// Keys and values of one slot in one layer, [kv_heads, length, head_dim and value_dim()], and their memory. Copies
/// share it.
struct keys_values {
  head_rows k;
  head_rows v;  ///< of latent attention the first numbers of keys
  std::shared_ptr<float[]> memory;
};

/// Memory for the keys and values of so many tokens. Its numbers are not set. With a `latent_dim` values are the first
/// so many numbers of keys. Throws std::bad_alloc.
keys_values make_keys_values(int kv_heads, int tokens, int head_dim, int latent_dim = 0);

/// Copies rows of the same shape.
void copy_rows(const head_rows& source, const head_rows& target);

}  // namespace cogen::cache
