#include "engine/runner/runner_memory.hpp"

#include "network/backend/quantized_rows.hpp"

#include <algorithm>

namespace cogen::detail {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// Two workspaces of cuBLAS, each as large as LibTorch makes it on Hopper, one of cuBLASLt, and the code of kernels.
constexpr std::int64_t libraries = 3 * 32 * mebibyte + 256 * mebibyte;

/// Parts of the sums of batch-invariant attention, at most.
constexpr std::int64_t fixed_splits = 64 * mebibyte;

/// cuDNN's workspace for prompts and page tables, each as large as they may be, and the code of its kernels.
constexpr std::int64_t cudnn = (32 + 8 + 64) * mebibyte;

/// Of a step's description: as many numbers of 4 bytes for each token as a step_block has, in two blocks.
constexpr std::int64_t described_bytes = std::int64_t{2} * 8 * 4;

/// Of one row of logits: float32, and a mask bit for each.
std::int64_t logits_bytes(std::int64_t vocabulary) { return vocabulary * 4 + vocabulary / 8; }

std::int64_t held(const runner_shape& shape) {
  return (shape.scratch_bytes + described_bytes) * (shape.step_tokens + shape.encoder_tokens) +
         logits_bytes(shape.vocabulary) * shape.logits_rows;
}

/// Of a prompt: normed rows, gates beside what they gate, and what attention returns.
std::int64_t temporary(const runner_shape& shape) {
  const auto tokens = std::max(shape.step_tokens, shape.encoder_tokens);
  return tokens * shape.number_bytes * (shape.hidden + 2 * shape.inner + shape.attended);
}

/// The largest matrix of a block, or what is unpacked of the output matrix at a time, where weights are packed.
std::int64_t matrix(const runner_shape& shape) {
  return shape.number_bytes * shape.hidden *
         std::max({2 * shape.inner, shape.qkv, std::min(shape.vocabulary, device::unpacked_outputs)});
}

/// Where ranks share the model: logits of a rank beside those of all, and the parts of a sum, at most two for each of
/// its numbers; small sums have as many as there are ranks.
std::int64_t exchanged(const runner_shape& shape) {
  if (shape.ranks == 1) return 0;
  const auto tokens = std::max(shape.step_tokens, shape.encoder_tokens);
  return 2 * 4 * (shape.vocabulary * shape.logits_rows + tokens * shape.hidden) + shape.ranks * mebibyte;
}

}  // namespace

std::int64_t runner_bytes(const runner_shape& shape, std::int64_t context) {
  return libraries + cudnn + held(shape) + temporary(shape) + matrix(shape) + exchanged(shape) +
         (shape.batch_invariant ? fixed_splits : 0) + shape.unpacked_bytes * context;
}

}  // namespace cogen::detail
