#include "device/cuda_operators.hpp"

#include "kernels/activation_cuda.hpp"
#include "kernels/attention_cuda.hpp"
#include "kernels/embed_cuda.hpp"
#include "kernels/gather_cuda.hpp"
#include "kernels/linear_cuda.hpp"
#include "kernels/pack_cuda.hpp"
#include "kernels/rms_norm_cuda.hpp"
#include "kernels/rope_cuda.hpp"
#include "sampling/draw_cuda.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <c10/cuda/CUDAException.h>

#include <optional>
#include <stdexcept>
#include <vector>

namespace cogen::device {

namespace {

namespace cuda = kernels::cuda;

cuda::number number_of(const at::Tensor& of) {
  switch (of.scalar_type()) {
    case at::kFloat:
      return cuda::number::f32;
    case at::kHalf:
      return cuda::number::f16;
    case at::kBFloat16:
      return cuda::number::bf16;
    default:
      throw std::invalid_argument(std::string("the device's kernels know no ") + c10::toString(of.scalar_type()));
  }
}

/// With more rows than these, LibTorch's products are the faster ones.
constexpr std::int64_t few_rows = 8;

int size_of(const at::Tensor& of, std::int64_t dimension) { return static_cast<int>(of.size(dimension)); }

template <class T>
const T* numbers(const at::Tensor& of) {
  return of.defined() ? of.const_data_ptr<T>() : nullptr;
}

template <class T>
T* bytes_as(const at::Tensor& of) {
  return static_cast<T*>(of.mutable_data_ptr());
}

cudaStream_t stream() { return at::cuda::getCurrentCUDAStream(); }

cuda::step_tokens tokens_of(const step_rows& rows, std::int64_t count) {
  return {numbers<std::int32_t>(rows.slots), numbers<std::int32_t>(rows.positions), static_cast<int>(count)};
}

cuda::packed_format format_of(const cache::group_format& format) {
  return {format.bits, format.axis == cache::group_axis::channel, format.group};
}

cuda::packed_blocks packed_of(const cache::device_layer& layer) {
  if (!layer.packing) return {};
  return {.blocks = bytes_as<std::byte>(layer.packed),
          .slot_stride = layer.packed.stride(0),
          .keys = format_of(layer.packing->keys),
          .values = format_of(layer.packing->values),
          .residual = layer.packing->residual};
}

cuda::kv_layer layer_of(const cache::device_layer& layer) {
  return {.keys = bytes_as<std::byte>(layer.keys),
          .values = bytes_as<std::byte>(layer.values),
          .slot_stride = layer.keys.stride(0) * layer.keys.element_size(),
          .type = number_of(layer.keys),
          .kv_heads = size_of(layer.keys, 2),
          .head_dim = size_of(layer.keys, 3),
          .ring = layer.packing ? layer.packing->places : 0,
          .window = layer.window,
          .packed = packed_of(layer)};
}

std::int64_t length_of(const cache::device_layer& layer) {
  return layer.packing ? layer.packed.size(1) * 64 : layer.keys.size(1);
}

/// From the layer's first token of slot 0 to the end of all storage, one token after the other: slots begin where
/// step_rows::prompt_origins says.
at::Tensor in_one_row(const at::Tensor& of) {
  const auto width = of.stride(1);
  const auto numbers = static_cast<std::int64_t>(of.storage().nbytes()) / of.element_size() - of.storage_offset();
  return of.as_strided({numbers / width, of.size(2), of.size(3)}, {width, of.stride(2), 1});
}

class cuda_operators final : public operators {
 public:
  explicit cuda_operators(int device) : processors_(at::cuda::getDeviceProperties(device)->multiProcessorCount) {}

  std::int64_t packed_head_bytes(const cache::group_format& keys, const cache::group_format& values,
                                 std::int64_t head_dim) override {
    const cuda::packed_blocks packed{.keys = format_of(keys), .values = format_of(values)};
    const int dim = static_cast<int>(head_dim);
    if (!cuda::supports_packing({.kv_heads = 1, .head_dim = dim, .ring = 64 * 4, .packed = packed}))
      throw std::invalid_argument(
          "engine_options.quantised is of a form that CUDA devices do not have: they have int8(), int8_int4(), int4() "
          "and kivi2(), and heads of 64, 96, 128 or 256");
    return cuda::packed_head_bytes(packed, dim);
  }

  void embed(const at::Tensor& table, const step_rows& rows, const at::Tensor& last, const at::Tensor& x) override {
    cuda::embed({.tokens = numbers<std::int32_t>(rows.ids),
                 .slots = numbers<std::int32_t>(rows.slots),
                 .last_tokens = numbers<std::int32_t>(last),
                 .table = table.const_data_ptr(),
                 .type = number_of(table),
                 .out = x.mutable_data_ptr(),
                 .out_type = number_of(x),
                 .rows = size_of(x, 0),
                 .vocabulary = size_of(table, 0),
                 .width = size_of(x, 1)},
                stream());
  }

  void norm_linear(const at::Tensor& x, const rms_norm& before, const projection& by, const at::Tensor& y) override {
    if (x.size(0) > few_rows) return multiply(normed(x, before), by, y);
    auto product = product_of(x, by, y);
    put_before(product, before);
    cuda::linear(product, stream());
  }

  void norm_gated(const at::Tensor& x, const rms_norm& before, const projection& by, const at::Tensor& y) override {
    if (x.size(0) > few_rows) {
      const auto gate_up = at::empty({x.size(0), by.weights.size(0)}, y.options());
      multiply(normed(x, before), by, gate_up);
      return gate(gate_up, y);
    }
    auto product = product_of(x, by, y);
    product.result = cuda::linear_result::gated;
    put_before(product, before);
    cuda::linear(product, stream());
  }

  void linear_add(const at::Tensor& y, const projection& by, const at::Tensor& x) override {
    if (y.size(0) > few_rows) {
      auto sum = x;
      if (by.bias.defined()) sum.add_(by.bias);
      at::addmm_out(sum, sum, y, by.weights.t(), at::kFloat);
      return;
    }
    auto product = product_of(y, by, x);
    product.result = cuda::linear_result::added;
    cuda::linear(product, stream());
  }

  void rotate_and_append(const at::Tensor& qkv, const attention_shape& shape, const at::Tensor& rope,
                         const step_rows& rows, const cache::device_layer& layer) override {
    cuda::rotate_and_append(
        layer_of(layer), tokens_of(rows, qkv.size(0)),
        {.table = rope.const_data_ptr<float>(), .positions = size_of(rope, 0), .pairs = size_of(rope, 1) / 2},
        {.qkv = qkv.mutable_data_ptr(),
         .stride = qkv.stride(0),
         .type = number_of(qkv),
         .heads = static_cast<int>(shape.heads)},
        stream());
  }

  void attend(const at::Tensor& qkv, const attention_shape& shape, const step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override {
    if (rows.single > 0) attend_single(qkv, shape, rows, layer, out);
    if (!rows.prompts.empty()) attend_prompts(qkv, shape, rows, layer, out);
  }

  void draw(const at::Tensor& logits, const step_draws& how, const at::Tensor& last, const at::Tensor& tokens,
            const at::Tensor& statuses) override {
    C10_CUDA_CHECK(cogen::cuda::draw({.logits = logits.mutable_data_ptr<float>(),
                                      .stride = logits.stride(0),
                                      .vocabulary = size_of(logits, 1),
                                      .rows = size_of(logits, 0),
                                      .draws = bytes_as<const device_draw>(how.rows),
                                      .biases = bytes_as<const token_bias>(how.biases),
                                      .counts = bytes_as<const token_count>(how.counts),
                                      .last_tokens = last.mutable_data_ptr<std::int32_t>(),
                                      .tokens = tokens.mutable_data_ptr<std::int32_t>(),
                                      .statuses = bytes_as<draw_status>(statuses)},
                                     stream()));
  }

 private:
  cuda::linear_operands product_of(const at::Tensor& x, const projection& by, const at::Tensor& y) const {
    return {.x = x.const_data_ptr(),
            .weights = by.weights.const_data_ptr(),
            .bias = by.bias.defined() ? by.bias.const_data_ptr() : nullptr,
            .out = y.mutable_data_ptr(),
            .out_type = number_of(y),
            .type = number_of(by.weights),
            .rows = size_of(x, 0),
            .inputs = size_of(x, 1),
            .outputs = size_of(y, 1),
            .blocks = processors_};
  }

  static void put_before(cuda::linear_operands& product, const rms_norm& norm) {
    product.norm = norm.weight.const_data_ptr();
    product.epsilon = static_cast<float>(norm.epsilon);
  }

  static at::Tensor normed(const at::Tensor& x, const rms_norm& by) {
    auto out = at::empty(x.sizes(), by.weight.options());
    cuda::add_rms_norm({.residual = x.mutable_data_ptr(),
                        .residual_type = number_of(x),
                        .weight = by.weight.const_data_ptr(),
                        .weight_type = number_of(by.weight),
                        .epsilon = static_cast<float>(by.epsilon),
                        .out = out.mutable_data_ptr(),
                        .type = number_of(out),
                        .rows = size_of(x, 0),
                        .width = size_of(x, 1)},
                       stream());
    return out;
  }

  static void multiply(const at::Tensor& x, const projection& by, const at::Tensor& y) {
    auto out = y;
    if (out.scalar_type() != x.scalar_type()) {
      at::mm_out(out, x, by.weights.t(), out.scalar_type());
      if (by.bias.defined()) out.add_(by.bias);
    } else if (by.bias.defined()) {
      at::addmm_out(out, by.bias, x, by.weights.t());
    } else {
      at::mm_out(out, x, by.weights.t());
    }
  }

  static void gate(const at::Tensor& gate_up, const at::Tensor& out) {
    cuda::gated_activation({.gate_up = gate_up.const_data_ptr(),
                            .out = out.mutable_data_ptr(),
                            .type = number_of(out),
                            .rows = size_of(out, 0),
                            .width = size_of(out, 1)},
                           stream());
  }

  void attend_single(const at::Tensor& qkv, const attention_shape& shape, const step_rows& rows,
                     const cache::device_layer& layer, const at::Tensor& out) {
    const int count = static_cast<int>(rows.single);
    const int heads = static_cast<int>(shape.heads);
    const auto keys = layer_of(layer);
    const int splits = cuda::suggested_splits(count, keys.kv_heads, length_of(layer), processors_);
    cuda::decode_attention(keys, tokens_of(rows, count),
                           {.q = qkv.const_data_ptr(),
                            .q_stride = qkv.stride(0),
                            .type = number_of(qkv),
                            .heads = heads,
                            .scale = shape.scale,
                            .out = out.mutable_data_ptr(),
                            .workspace = workspace(cuda::decode_workspace_bytes(count, heads, keys.head_dim, splits)),
                            .splits = splits},
                           stream());
  }

  void attend_prompts(const at::Tensor& qkv, const attention_shape& shape, const step_rows& rows,
                      const cache::device_layer& layer, const at::Tensor& out) {
    const auto tokens = qkv.size(0) - rows.single;
    const auto queries = qkv.narrow(0, rows.single, tokens)
                             .narrow(1, 0, shape.heads * shape.head_dim)
                             .unflatten(1, {shape.heads, shape.head_dim});
    const auto left = layer.window > 0 ? std::optional<std::int64_t>(layer.window - 1) : std::nullopt;
    const auto right = layer.window > 0 ? std::optional<std::int64_t>(0) : std::nullopt;
    if (layer.packing) return attend_unpacked(queries, shape, rows, layer, out.narrow(0, rows.single, tokens));
    const auto values = in_one_row(layer.values);
    const auto keys = in_one_row(layer.keys).narrow(0, 0, values.size(0));  // which lie before them
    const auto attended = std::get<0>(
        at::_flash_attention_forward(queries, keys, values, rows.prompt_starts, rows.prompt_origins, rows.longest,
                                     rows.reach, /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false,
                                     std::optional<double>(shape.scale), left, right, rows.prompt_lengths));
    out.narrow(0, rows.single, tokens).copy_(attended.flatten(1));
  }

  /// The same for what flash attention cannot read where it lies: one prompt after the other.
  static void attend_unpacked(const at::Tensor& queries, const attention_shape& shape, const step_rows& rows,
                              const cache::device_layer& layer, const at::Tensor& out) {
    std::int64_t first = 0;
    for (const auto& row : rows.prompts) {
      const auto length = row.held + row.count;
      const auto keys = at::empty({1, length, shape.kv_heads, shape.head_dim}, layer.keys.options());
      const auto values = at::empty_like(keys);
      cuda::gather_keys_values(layer_of(layer),
                               {.slot = row.slot,
                                .count = static_cast<int>(length),
                                .packed = static_cast<int>(cuda::packed_tokens(row.held + 1, layer.packing->residual)),
                                .keys = keys.mutable_data_ptr(),
                                .values = values.mutable_data_ptr(),
                                .type = number_of(keys)},
                               stream());
      const auto attended = std::get<0>(at::_flash_attention_forward(
          queries.narrow(0, first, row.count).unsqueeze(0), keys, values, std::nullopt, std::nullopt, row.count, length,
          /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false, std::optional<double>(shape.scale)));
      out.narrow(0, first, row.count).copy_(attended[0].flatten(1));
      first += row.count;
    }
  }

  /// Recorded work goes on using what it was recorded with, so that a larger one comes beside it.
  void* workspace(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (workspaces_.empty() || workspaces_.back().nbytes() < bytes)
      workspaces_.push_back(
          at::empty({static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::kCUDA).dtype(at::kByte)));
    return workspaces_.back().mutable_data_ptr();
  }

  const int processors_;
  std::vector<at::Tensor> workspaces_;
};

}  // namespace

std::unique_ptr<operators> make_cuda_operators(int device) { return std::make_unique<cuda_operators>(device); }

}  // namespace cogen::device
