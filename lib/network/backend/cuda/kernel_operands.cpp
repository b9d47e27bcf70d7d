#include "network/backend/cuda/kernel_operands.hpp"

#include <ATen/cuda/CUDAContext.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace cogen::device {

namespace cuda = kernels::cuda;

cuda::number number_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return cuda::number::f32;
    case at::kHalf:
      return cuda::number::f16;
    case at::kBFloat16:
      return cuda::number::bf16;
    case at::kFloat8_e4m3fn:
      return cuda::number::fp8;
    default:
      throw std::invalid_argument(std::string("the device's kernels know no ") + c10::toString(tensor.scalar_type()));
  }
}

cudaStream_t current_stream() { return at::cuda::getCurrentCUDAStream(); }

cuda::new_tokens tokens_of(const step_rows& rows, const token_range& which) {
  return {numbers<std::int32_t>(rows.slots) + which.first, numbers<std::int32_t>(rows.positions) + which.first,
          static_cast<int>(which.count)};
}

cuda::quantized_format format_of(const cache::group_format& format) {
  return {format.bits, format.axis == cache::group_axis::channel, format.group};
}

namespace {

cuda::quantized_blocks quantized_of(const cache::device_layer& layer) {
  if (!layer.quantization) return {};
  return {.blocks = bytes_as<std::byte>(layer.quantized),
          .slot_stride = layer.quantized.stride(0),
          .keys = format_of(layer.quantization->keys),
          .values = format_of(layer.quantization->values),
          .residual = layer.quantization->residual};
}

}  // namespace

cuda::kv_layer layer_of(const cache::device_layer& layer) {
  return {.keys = bytes_as<std::byte>(layer.keys),
          .values = bytes_as<std::byte>(layer.values),
          .slot_stride = layer.keys.stride(0) * layer.keys.element_size(),
          .type = number_of(layer.keys),
          .kv_heads = size_of(layer.keys, 2),
          .head_dim = size_of(layer.keys, 3),
          .ring = layer.ring,
          .sinks = layer.span.sinks,
          .window = layer.span.window,
          .quantized = quantized_of(layer)};
}

}  // namespace cogen::device
