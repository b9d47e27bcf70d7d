#pragma once

#include "network/backend/backend.hpp"
#include "network/backend/cuda/kernel_operands.hpp"
#include "network/backend/cuda/prompt_attention_log.hpp"
#include "network/backend/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cogen::device {

class cudnn_attention;

/// Attention over the slots of a cache, where kernels can read its layers: of single tokens by cogen's kernel, of
/// prompts by cuDNN or FlashAttention-2. Used by one thread at a time, on the current stream.
class cuda_attention {
 public:
  /// Batch-invariant attention is that of the kernel alone, whose keys are cut by their positions. `attended` counts
  /// the prompts of cuDNN and of flash attention; it may be null where attention is batch-invariant.
  cuda_attention(const cudaDeviceProp& device, bool batch_invariant, const backend_switches& switches,
                 std::shared_ptr<prompt_attention_log> attended);
  ~cuda_attention();

  /// As operators::attend().
  void attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out);

 private:
  /// How keys are cut into parts, which thread blocks read.
  struct key_cut {
    int splits = 1;
    int min_blocks = 1;
  };

  void attend_each(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                   const token_range& which, const cache::device_layer& layer, const at::Tensor& out);
  void attend_each(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                   const token_range& which, const key_cut& cut, const cache::device_layer& layer,
                   const at::Tensor& out);
  void attend_prompts(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                      const token_range& which, const cache::device_layer& layer, const at::Tensor& out);
  void* workspace(std::size_t bytes);
  std::int32_t* counters(std::int64_t count);

  const int processors_;
  const bool batch_invariant_;
  const std::shared_ptr<prompt_attention_log> attended_;
  const std::unique_ptr<cudnn_attention> cudnn_;  // null: it is not asked
  std::vector<at::Tensor> workspaces_;
  std::vector<at::Tensor> counters_;
};

}  // namespace cogen::device
