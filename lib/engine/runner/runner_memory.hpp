#pragma once

#include <cstdint>

namespace cogen::detail {

/// What the memory of a device_runner beside its caches depends on.
struct runner_shape {
  std::int64_t step_tokens = 0;     ///< of one step, at most
  std::int64_t encoder_tokens = 0;  ///< of one encoder input, at most
  std::int64_t logits_rows = 0;     ///< computed at a time
  std::int64_t vocabulary = 0;
  std::int64_t scratch_bytes = 0;  ///< of one token
  std::int64_t hidden = 0;         ///< columns, like the three below
  std::int64_t qkv = 0;
  std::int64_t attended = 0;
  std::int64_t inner = 0;           ///< of a feed-forward
  std::int64_t number_bytes = 0;    ///< of an activation
  std::int64_t ranks = 1;           ///< that share the model
  std::int64_t unpacked_bytes = 0;  ///< of a token of one layer, where prompts cannot read the cache as it is; else 0
  bool batch_invariant = false;
};

/// Bytes on the device beside the caches when a prompt runs over a context of so many tokens: what the runner holds,
/// the largest temporary tensors, and what libraries allocate. An estimate from above for models of Llama's shape.
std::int64_t runner_bytes(const runner_shape& shape, std::int64_t context);

}  // namespace cogen::detail
