#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// The prompts of a step, in device memory.
struct prompt_rows {
  const std::int32_t* starts = nullptr;  // [count + 1]: where the tokens of each begin, counted from those of the first
  const std::int32_t* origins = nullptr;  // [count]: where the slot of each begins in the layer, in tokens
  const std::int32_t* lengths = nullptr;  // [count]: tokens that the slot holds with the step, at least 1
  int count = 0;
};

/// Where paged attention reads what it does. There are at least as many rows as prompts; others have no tokens.
struct prompt_tables {
  int rows = 0;
  int pages = 0;                          // of each row, at least those of the longest prompt
  int page_tokens = 0;                    // by which origins are divisible
  std::int64_t query_stride = 0;          // numbers from a token's queries to the next one's
  std::int64_t out_stride = 0;            // the same of results
  std::int64_t* query_offsets = nullptr;  // [rows + 1], in numbers
  std::int64_t* out_offsets = nullptr;    // [rows + 1]
  std::int32_t* query_lengths = nullptr;  // [rows]
  std::int32_t* key_lengths = nullptr;    // [rows]
  std::int32_t* page_table = nullptr;     // [rows, pages]; behind a prompt's last page that one again
};

/// Keys and values of a layer, each a token of `token_bytes` after the other, a multiple of 16.
struct paged_layer {
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
  std::int64_t token_bytes = 0;
};

/// Writes the tables, and zeros behind the last token of each prompt up to the end of its page: attention multiplies
/// those keys and values by 0, which has to be 0. Throws std::runtime_error if the kernel cannot be launched.
void write_prompt_tables(const prompt_rows& prompts, const prompt_tables& tables, const paged_layer& layer,
                         cudaStream_t stream);

}  // namespace cogen::kernels::cuda
