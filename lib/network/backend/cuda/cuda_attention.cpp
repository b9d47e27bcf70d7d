#include "network/backend/cuda/cuda_attention.hpp"

#include "network/backend/cuda/cudnn_attention.hpp"
#include "network/backend/cuda/prompt_attention.hpp"
#include "network/kernels/attention_cuda.hpp"
#include "network/kernels/gather_cuda.hpp"
#include "network/kernels/quantize_cuda.hpp"

#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace cogen::device {

namespace {

namespace cuda = kernels::cuda;

/// Of attention that is batch-invariant, whose keys are cut into many parts: it is computed for as many rows at a time
/// as have room in so many bytes.
constexpr std::size_t fixed_splits_bytes = std::size_t{64} << 20;

/// Hopper. FlashAttention-2 is made for the generation before it (Shah et al., arXiv:2407.08608, compare both there).
constexpr int min_cudnn_generation = 9;

/// The most tokens that a query attends to.
std::int64_t reach_of(const cache::device_layer& layer) {
  if (layer.span.window > 0) return layer.span.sinks + layer.span.window;
  return layer.quantization ? layer.quantized.size(1) * 64 : layer.keys.size(1);
}

/// Queries of some tokens, [tokens, heads, head_dim].
at::Tensor queries_of(const qkv_rows& numbers, const attention_shape& shape, const token_range& which) {
  return numbers.qkv.narrow(0, which.first, which.count)
      .narrow(1, 0, shape.heads * shape.head_dim)
      .unflatten(1, {shape.heads, shape.head_dim});
}

/// The places of all slots one after the other: slots begin at step_rows::prompt_origins.
at::Tensor in_one_row(const at::Tensor& plane) {
  const auto width = plane.stride(1);
  return plane.as_strided({plane.size(0) * plane.stride(0) / width, plane.size(2), plane.size(3)},
                          {width, plane.stride(2), 1});
}

/// How far back and ahead a query attends, as parameters of flash attention.
struct reach {
  explicit reach(int window) {
    if (window > 0) left = window - 1, right = 0;
  }
  std::optional<std::int64_t> left;
  std::optional<std::int64_t> right;
};

void attend_together(const at::Tensor& queries, const attention_shape& shape, const step_rows& rows,
                     const cache::device_layer& layer, const at::Tensor& out) {
  const reach span(layer.span.window);
  const auto attended = std::get<0>(at::_flash_attention_forward(
      queries, in_one_row(layer.keys), in_one_row(layer.values), rows.prompt_starts, rows.prompt_origins, rows.longest,
      rows.reach, /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false,
      std::optional<double>(shape.scale), span.left, span.right, rows.prompt_lengths));
  out.copy_(attended.flatten(1));
}

struct keys_values {
  at::Tensor keys;    // [1, tokens, kv_heads, head_dim]
  at::Tensor values;  // the same
};

/// What the prompt's queries attend to, from position `first` on.
keys_values in_place(const cache::device_layer& layer, const prompt_row& row, int first) {
  const auto seen = [&](const at::Tensor& plane) {
    return plane.narrow(0, row.slot, 1).narrow(1, first, row.held + row.count - first);
  };
  return {seen(layer.keys), seen(layer.values)};
}

keys_values gathered(const cache::device_layer& layer, const prompt_row& row, int first,
                     const at::TensorOptions& like) {
  const auto count = row.held + row.count - first;
  const auto quantized = layer.quantization ? cuda::quantized_tokens(row.held + 1, layer.quantization->residual) : 0;
  const auto keys = at::empty({1, count, layer.keys.size(2), layer.keys.size(3)}, like);
  const auto values = at::empty_like(keys);
  cuda::gather_keys_values(layer_of(layer),
                           {.slot = row.slot,
                            .first = first,
                            .count = static_cast<int>(count),
                            .quantized = static_cast<int>(quantized),
                            .keys = keys.mutable_data_ptr(),
                            .values = values.mutable_data_ptr(),
                            .type = number_of(keys)},
                           current_stream());
  return {keys, values};
}

/// One prompt after the other: flash attention splits the keys of one where its queries are few, and does not read
/// what does not lie as it is multiplied.
void attend_one_by_one(const at::Tensor& queries, const attention_shape& shape, const step_rows& rows,
                       const cache::device_layer& layer, bool reads_in_place, const at::Tensor& out) {
  const reach span(layer.span.window);
  std::int64_t begin = 0;
  for (const auto& row : rows.prompts) {
    const auto first = cache::first_seen(layer.span, static_cast<int>(row.held));
    const auto seen = reads_in_place ? in_place(layer, row, first) : gathered(layer, row, first, queries.options());
    const auto attended = std::get<0>(at::_flash_attention_forward(
        queries.narrow(0, begin, row.count).unsqueeze(0), seen.keys, seen.values, std::nullopt, std::nullopt, row.count,
        seen.keys.size(1), /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false,
        std::optional<double>(shape.scale), span.left, span.right));
    out.narrow(0, begin, row.count).copy_(attended[0].flatten(1));
    begin += row.count;
  }
}

}  // namespace

cuda_attention::cuda_attention(const cudaDeviceProp& device, bool batch_invariant, const backend_switches& switches,
                               std::shared_ptr<prompt_attention_log> attended)
    : processors_(device.multiProcessorCount),
      batch_invariant_(batch_invariant),
      attended_(std::move(attended)),
      cudnn_(!batch_invariant && switches.cudnn && device.major >= min_cudnn_generation
                 ? std::make_unique<cudnn_attention>(attended_)
                 : nullptr) {}

cuda_attention::~cuda_attention() = default;

void cuda_attention::attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                            const cache::device_layer& layer, const at::Tensor& out) {
  const token_range single{0, rows.single}, others{rows.single, numbers.qkv.size(0) - rows.single};
  if (single.count > 0) attend_each(numbers, shape, rows, single, layer, out);
  if (!rows.prompts.empty()) attend_prompts(numbers, shape, rows, others, layer, out);
}

/// Each query by itself, for any layer.
void cuda_attention::attend_each(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                                 const token_range& which, const cache::device_layer& layer, const at::Tensor& out) {
  const auto heads = static_cast<int>(shape.heads), kv_heads = static_cast<int>(shape.kv_heads);
  const auto reach = reach_of(layer);
  if (!batch_invariant_)
    return attend_each(numbers, shape, rows, which,
                       {.splits = cuda::suggested_splits(static_cast<int>(which.count), kv_heads, reach, processors_)},
                       layer, out);
  const key_cut cut{.splits = cuda::fixed_splits(reach), .min_blocks = cuda::min_fixed_blocks};
  const auto row_bytes = cuda::decode_workspace_bytes(1, heads, static_cast<int>(shape.head_dim), cut.splits);
  const auto at_once = static_cast<std::int64_t>(fixed_splits_bytes / std::max<std::size_t>(row_bytes, 1));
  for (std::int64_t begin = 0; begin < which.count; begin += at_once)
    attend_each(numbers, shape, rows, {which.first + begin, std::min(at_once, which.count - begin)}, cut, layer, out);
}

void cuda_attention::attend_each(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                                 const token_range& which, const key_cut& cut, const cache::device_layer& layer,
                                 const at::Tensor& out) {
  const int count = static_cast<int>(which.count);
  const int heads = static_cast<int>(shape.heads);
  const auto keys = layer_of(layer);
  const auto bytes = cuda::decode_workspace_bytes(count, heads, keys.head_dim, cut.splits);
  const auto slice = [&](const at::Tensor& tensor) { return tensor.narrow(0, which.first, which.count); };
  cuda::decode_attention(keys, tokens_of(rows, which),
                         {.q = slice(numbers.qkv).const_data_ptr(),
                          .q_stride = numbers.qkv.stride(0),
                          .type = number_of(numbers.qkv),
                          .heads = heads,
                          .scale = shape.scale,
                          .out = slice(out).mutable_data_ptr(),
                          .sink_q = layer.span.sinks > 0 ? slice(numbers.sink_q).const_data_ptr() : nullptr,
                          .workspace = workspace(bytes),
                          .counters = cut.splits > 1 ? counters(which.count * heads) : nullptr,
                          .splits = cut.splits,
                          .min_blocks = cut.min_blocks},
                         current_stream());
}

/// Those of the others.
void cuda_attention::attend_prompts(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                                    const token_range& which, const cache::device_layer& layer, const at::Tensor& out) {
  if (layer.span.sinks > 0 || batch_invariant_) return attend_each(numbers, shape, rows, which, layer, out);
  const auto queries = queries_of(numbers, shape, which);
  const auto result = out.narrow(0, which.first, which.count);
  const bool reads_in_place = layer.ring == 0 && layer.keys.scalar_type() == numbers.qkv.scalar_type();
  const bool together = reads_in_place && !splits_over_keys(rows.prompts, shape.heads, processors_);
  if (together && cudnn_ && cudnn_->attend(queries, shape, rows, layer, result)) return attended_->add_by_cudnn();
  attended_->add_by_flash_attention();
  if (together)
    attend_together(queries, shape, rows, layer, result);
  else
    attend_one_by_one(queries, shape, rows, layer, reads_in_place, result);
}

/// Captured graphs keep using the old one, so a larger one is added.
void* cuda_attention::workspace(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (workspaces_.empty() || workspaces_.back().nbytes() < bytes)
    workspaces_.push_back(at::empty({static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::kCUDA).dtype(at::kByte)));
  return workspaces_.back().mutable_data_ptr();
}

/// 0 between kernels.
std::int32_t* cuda_attention::counters(std::int64_t count) {
  if (counters_.empty() || counters_.back().numel() < count)
    counters_.push_back(at::zeros({count}, at::TensorOptions(at::kCUDA).dtype(at::kInt)));
  return counters_.back().mutable_data_ptr<std::int32_t>();
}

}  // namespace cogen::device
