#include "network/kernels/launch.cuh"
#include "network/kernels/prompt_tables_cuda.hpp"

namespace cogen::kernels::cuda {
namespace {

constexpr int threads = 256;

__device__ void clear(std::byte* begin, std::int64_t bytes) {
  auto* parts = reinterpret_cast<uint4*>(begin);
  for (std::int64_t part = threadIdx.x; part < bytes / 16; part += threads) parts[part] = make_uint4(0, 0, 0, 0);
}

__device__ void write_offsets(const prompt_rows& prompts, const prompt_tables& tables, int index) {
  const std::int64_t start = prompts.starts[index < prompts.count ? index : prompts.count];
  tables.query_offsets[index] = start * tables.query_stride;
  tables.out_offsets[index] = start * tables.out_stride;
}

// A block for each row.
__global__ void __launch_bounds__(threads)
    prompt_tables_kernel(prompt_rows prompts, prompt_tables tables, paged_layer layer) {
  const int row = static_cast<int>(blockIdx.x);
  const bool is_prompt = row < prompts.count;
  const int length = is_prompt ? prompts.lengths[row] : 0;
  const int pages = (length + tables.page_tokens - 1) / tables.page_tokens;
  const int origin = prompts.origins[is_prompt ? row : 0];
  const int first = origin / tables.page_tokens, last = pages > 0 ? pages - 1 : 0;
  std::int32_t* table = tables.page_table + std::int64_t{row} * tables.pages;
  for (int page = static_cast<int>(threadIdx.x); page < tables.pages; page += threads)
    table[page] = first + (page < last ? page : last);
  if (is_prompt) {
    const std::int64_t end = (std::int64_t{origin} + length) * layer.token_bytes;
    const std::int64_t rest = std::int64_t{pages * tables.page_tokens - length} * layer.token_bytes;
    clear(layer.keys + end, rest);
    clear(layer.values + end, rest);
  }
  if (threadIdx.x != 0) return;
  tables.query_lengths[row] = is_prompt ? prompts.starts[row + 1] - prompts.starts[row] : 0;
  tables.key_lengths[row] = length;
  write_offsets(prompts, tables, row);
  if (row == tables.rows - 1) write_offsets(prompts, tables, tables.rows);
}

}  // namespace

void write_prompt_tables(const prompt_rows& prompts, const prompt_tables& tables, const paged_layer& layer,
                         cudaStream_t stream) {
  launch("write_prompt_tables", prompt_tables_kernel, dim3(static_cast<unsigned>(tables.rows)), threads, stream,
         prompts, tables, layer);
}

}  // namespace cogen::kernels::cuda
