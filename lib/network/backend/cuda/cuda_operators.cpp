#include "network/backend/cuda/cuda_operators.hpp"

#include "network/backend/cuda/batch_invariance.hpp"
#include "network/backend/cuda/cuda_attention.hpp"
#include "network/backend/cuda/cuda_products.hpp"
#include "network/backend/cuda/kernel_operands.hpp"
#include "network/backend/tensor/heads.hpp"
#include "network/backend/tensor/tensor_operators.hpp"
#include "network/kernels/activation_cuda.hpp"
#include "network/kernels/attention_cuda.hpp"
#include "network/kernels/embed_cuda.hpp"
#include "network/kernels/quantize_cuda.hpp"
#include "network/kernels/rope_cuda.hpp"
#include "network/kernels/selective_scan_cuda.hpp"
#include "sampling/sample_cuda.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/rms_norm.h>
#include <c10/cuda/CUDAException.h>

#include <memory>
#include <stdexcept>
#include <utility>

namespace cogen::device {

namespace {

namespace cuda = kernels::cuda;

static_assert(squared_numbers == cuda::squared_numbers);

cuda::sequence_rows sequences_of(const step_rows& rows) {
  return {.slots = numbers<std::int32_t>(rows.slots),
          .positions = numbers<std::int32_t>(rows.positions),
          .single = static_cast<int>(rows.single),
          .prompt_starts = numbers<std::int32_t>(rows.prompt_starts),
          .prompts = static_cast<int>(rows.prompts.size())};
}

/// A layer's states from some number on.
cuda::slot_states states_of(const cache::device_layer& layer, std::int64_t first) {
  return {.states = layer.states.mutable_data_ptr<float>() + first, .slot_stride = layer.states.stride(0)};
}

bool embedding_has_kernel(const embedding& embeddings) {
  return embeddings.scale == 1 && !embeddings.to_hidden.weights.defined() && !embeddings.positions.defined() &&
         !embeddings.after.weight.defined() && is_aligned(embeddings.width);
}

/// Norms that a product begins: not of float16, as x times weights may be too large for it.
bool can_begin(const norm_input& output, const norm* next) {
  return next && output.weighted.defined() && output.weighted.scalar_type() == at::kBFloat16 &&
         norm_has_kernel(output.x, *next);
}

bool activation_has_kernel(const parts::activation& function, std::int64_t width) {
  return function.kind == kernels::activation::silu && function.gated && function.gate_scale == 1 &&
         !function.gate_cutoff && is_aligned(width);
}

bool only_adds(const residual& update) {
  return !update.after.weight.defined() && update.scale == 1 && !update.post.weight.defined() && update.total == 1;
}

bool layer_has_kernel(const cache::device_layer& layer, const qkv_rows& numbers, const attention_shape& shape) {
  return shape.latent_dim == 0 && layer.span.chunk == 0 && layer.keys.stride(1) == shape.kv_heads * shape.head_dim &&
         is_aligned(numbers.qkv.stride(0)) &&
         cuda::supports_decode_attention(layer_of(layer), number_of(numbers.qkv), static_cast<int>(shape.heads));
}

bool rotation_has_kernel(const attention_shape& shape, const rotation& turn) {
  if (shape.norms_after_rotation) return false;
  return !turn.near.defined() || (shape.first_rotated == 0 && is_aligned(turn.near.size(1) / 2));
}

bool scores_have_kernel(const attention_shape& shape) {
  return shape.softcap == 0 && !shape.sink_logits.defined() && !shape.slopes.defined() &&
         !shape.distance_biases.defined();
}

bool scan_has_kernel(const selective_scan& mamba) {
  constexpr std::int64_t max_taps = 8, max_states = 64;
  return mamba.taps() <= max_taps && mamba.states() <= max_states;
}

cuda::rotation angles_of(const rotation& turn) {
  if (!turn.near.defined()) return {};
  return {.table = turn.near.const_data_ptr<float>(),
          .positions = size_of(turn.near, 0),
          .pairs = size_of(turn.near, 1) / 2,
          .far = turn.far.const_data_ptr<float>(),
          .multiples = size_of(turn.far, 0)};
}

/// Kernels for what models of Llama's shape do in each step. Whatever else a part asks for is done in LibTorch's
/// operators.
class cuda_operators final : public tensor_operators {
 public:
  /// Batch-invariant ones are those of kernels alone.
  cuda_operators(const cudaDeviceProp& device, bool batch_invariant, const backend_switches& switches,
                 std::shared_ptr<prompt_attention_log> attended)
      : generation_(device.major),
        batch_invariant_(batch_invariant),
        products_(device, batch_invariant),
        attention_(device, batch_invariant, switches, std::move(attended)) {}

  std::int64_t quantized_head_bytes(const cache::group_format& keys, const cache::group_format& values,
                                    std::int64_t head_dim) override {
    const cuda::quantized_blocks quantized{.keys = format_of(keys), .values = format_of(values)};
    const int dim = static_cast<int>(head_dim);
    if (!cuda::supports_quantization({.kv_heads = 1, .head_dim = dim, .ring = 64 * 4, .quantized = quantized}))
      throw std::invalid_argument(
          "engine_options.kv.quantization is of a form that CUDA devices do not have: they have int8(), int8_int4(), "
          "int4() "
          "and kivi2(), and heads of 64, 96, 128 or 256");
    return cuda::quantized_head_bytes(quantized, dim);
  }

  cache::quantized_head quantized_head_numbers(const cache::group_format& keys, const cache::group_format& values,
                                               std::int64_t head_dim) const override {
    const auto plane = [&](const cache::group_format& format) -> std::vector<cache::exported_run> {
      const auto form = format_of(format);
      const int dim = static_cast<int>(head_dim);
      const auto scales = cuda::quantized_scale_bytes(form, dim);
      return {{.bytes = scales, .type = cache::scalar::f16, .dims = 1},
              {.bytes = cuda::quantized_plane_bytes(form, dim) - scales}};
    };
    return {plane(keys), plane(values)};
  }

  quantized_rows pack(const quantized_rows& rows) override { return packed(rows); }

  void embed(const embedding& embeddings, const step_rows& rows, const at::Tensor& last, const at::Tensor& x) override {
    const auto& table = embeddings.table;
    if (!embedding_has_kernel(embeddings)) return tensor_operators::embed(embeddings, rows, last, x);
    cuda::embed({.tokens = numbers<std::int32_t>(rows.ids),
                 .slots = numbers<std::int32_t>(rows.slots),
                 .last_tokens = numbers<std::int32_t>(last),
                 .table = table.weights.const_data_ptr(),
                 .packing = table.packing,
                 .scales = table.scales.defined() ? table.scales.const_data_ptr() : nullptr,
                 .type = number_of(numbers_of(table)),
                 .out = x.mutable_data_ptr(),
                 .out_type = number_of(x),
                 .rows = size_of(x, 0),
                 .vocabulary = size_of(table.weights, 0),
                 .width = size_of(x, 1)},
                current_stream());
  }

  void norm_linear(const norm_input& input, const norm& pre_norm, const projection& linear,
                   const at::Tensor& y) override {
    const auto& x = input.x;
    if (!linear.adapters.empty()) {
      const auto rows = products_.rows_for(linear, x, pre_norm);
      norm_linear(rows, {},
                  {.weights = linear.weights, .bias = linear.bias, .scales = linear.scales, .packing = linear.packing},
                  y);
      return adapt(rows, linear, y);
    }
    if (!products_.has_kernel(x, linear)) return products_.multiply_normed_in_parts(x, pre_norm, linear, y);
    cuda_products::run(products_.product_of_norm(input, pre_norm, linear, y).operands);
  }

  void norm_activated(const norm_input& input, const norm& pre_norm, const projection& linear,
                      const parts::activation& function, const at::Tensor& y) override {
    const auto& x = input.x;
    if (!linear.adapters.empty() || !activation_has_kernel(function, y.size(1)) || !norm_has_kernel(x, pre_norm))
      return tensor_operators::norm_activated(input, pre_norm, linear, function, y);
    if (!products_.has_kernel(x, linear)) {
      const auto gate_up = at::empty({x.size(0), linear.weights.size(0)}, y.options());
      products_.multiply_normed(x, pre_norm, linear, gate_up);
      return gate(gate_up, y);
    }
    auto product = products_.product_of_norm(input, pre_norm, linear, y);
    product.operands.result = cuda::linear_result::gated;
    cuda_products::run(product.operands);
  }

  bool linear_add(const at::Tensor& y, const projection& linear, const residual& update,
                  const norm_input& output) override {
    const auto& x = output.x;
    if (!linear.adapters.empty() || !only_adds(update)) return tensor_operators::linear_add(y, linear, update, x);
    if (!products_.has_kernel(y, linear)) {
      products_.multiply_and_add(y, linear, x);
      return false;
    }
    auto product = products_.product_of(y, linear, x);
    product.result = cuda::linear_result::added;
    const bool begins = !batch_invariant_ && can_begin(output, update.next);
    if (begins)
      product.next = {update.next->weight.const_data_ptr(), output.weighted.mutable_data_ptr(),
                      output.squares.mutable_data_ptr<float>()};
    cuda_products::run(product);
    return begins;
  }

  void rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                         const step_rows& rows, const cache::device_layer& layer) override {
    const bool turns = rotation_has_kernel(shape, turn);
    if (shape.shares_kv || !layer_has_kernel(layer, numbers, shape) || (!turns && layer.span.sinks > 0))
      return tensor_operators::rotate_and_append(numbers, shape, turn, rows, layer);
    const auto& qkv = numbers.qkv;
    const auto own = qkv.narrow(1, 0, shape.qkv_width());
    prepare(own, shape, rows.positions);
    if (!turns) rotate(own, shape, turn, rows.positions);
    cuda::rotate_and_append(layer_of(layer), tokens_of(rows, {0, qkv.size(0)}),
                            turns ? angles_of(turn) : cuda::rotation{},
                            {.qkv = qkv.mutable_data_ptr(),
                             .stride = qkv.stride(0),
                             .type = number_of(qkv),
                             .heads = static_cast<int>(shape.heads),
                             .sink_q = sinks_of(numbers, layer)},
                            current_stream());
  }

  void attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override {
    if (!scores_have_kernel(shape) || !layer_has_kernel(layer, numbers, shape)) {
      if (batch_invariant_) refuse_batch_invariance("attention with such heads");
      return tensor_operators::attend(numbers, shape, rows, layer, out);
    }
    attention_.attend(numbers, shape, rows, layer, out);
    if (shape.output_gate) gate_outputs(numbers, shape, out);
  }

  void scan(const at::Tensor& x_and_gate, const selective_scan& mamba, const step_rows& rows,
            const cache::device_layer& layer, const at::Tensor& out) override {
    if (!scan_has_kernel(mamba)) return tensor_operators::scan(x_and_gate, mamba, rows, layer, out);
    const auto x = at::empty({x_and_gate.size(0), mamba.channels()}, x_and_gate.options());
    cuda::causal_convolution(sequences_of(rows),
                             {.x = x_and_gate.const_data_ptr(),
                              .x_stride = x_and_gate.stride(0),
                              .weight = numbers<float>(mamba.convolves.weights),
                              .bias = numbers<float>(mamba.convolves.biases),
                              .inputs = states_of(layer, 0),
                              .out = x.mutable_data_ptr(),
                              .type = number_of(x),
                              .channels = size_of(x, 1),
                              .taps = size_of(mamba.convolves.weights, 0)},
                             current_stream());
    const auto selected = selected_by(x, mamba);
    cuda::selective_scan(sequences_of(rows),
                         {.x = x.const_data_ptr(),
                          .gate = x_and_gate.narrow(1, mamba.channels(), mamba.channels()).const_data_ptr(),
                          .gate_stride = x_and_gate.stride(0),
                          .step = numbers<float>(selected.step),
                          .b = numbers<float>(selected.b),
                          .c = numbers<float>(selected.c),
                          .bc_stride = mamba.states(),
                          .decay = numbers<float>(mamba.decay),
                          .skip = numbers<float>(mamba.skip),
                          .h = states_of(layer, (mamba.taps() - 1) * mamba.channels()),
                          .out = out.mutable_data_ptr(),
                          .out_stride = out.stride(0),
                          .type = number_of(out),
                          .channels = size_of(x, 1),
                          .states = size_of(mamba.decay, 0)},
                         current_stream());
  }

  void sample(const at::Tensor& logits, const step_sampling& params, const at::Tensor& last,
              const step_samples& samples) override {
    C10_CUDA_CHECK(cogen::cuda::sample(
        {.logits = logits.mutable_data_ptr<float>(),
         .stride = logits.stride(0),
         .vocabulary = size_of(logits, 1),
         .rows = size_of(logits, 0),
         .sampling = bytes_as<const sampling_row>(params.rows),
         .biases = bytes_as<const token_bias>(params.biases),
         .counts = bytes_as<const token_count>(params.counts),
         .masks = bytes_as<const std::uint64_t>(params.masks),
         .raw_biased = params.raw.mutable_data_ptr<float>(),
         .raw_counted = params.raw.mutable_data_ptr<float>() + params.biases.numel() / std::int64_t{sizeof(token_bias)},
         .last_tokens = last.mutable_data_ptr<std::int32_t>(),
         .tokens = samples.tokens.mutable_data_ptr<std::int32_t>(),
         .statuses = bytes_as<sampling_status>(samples.statuses),
         .logprobs = samples.logprobs.mutable_data_ptr<float>(),
         .top = bytes_as<token_logprob>(samples.top)},
        current_stream()));
  }

 private:
  /// Others than bfloat16, and other processors, end in a loop that reads the groups on the host.
  bool multiplies_groups(const at::Tensor& weights) const override {
    return weights.scalar_type() == at::kBFloat16 && (generation_ == 9 || generation_ == 10);
  }

  at::Tensor weights_of(const projection& linear, std::int64_t inputs) const override {
    return cuda_products::weights_of(linear, inputs);
  }

  /// What a scan selects by its input: [tokens, channels], and twice [tokens, states]; float32.
  struct selection {
    at::Tensor step;
    at::Tensor b;
    at::Tensor c;
  };

  selection selected_by(const at::Tensor& x, const selective_scan& mamba) {
    const auto in_float32 = x.options().dtype(at::kFloat);
    const auto selected = at::empty({x.size(0), mamba.rank() + 2 * mamba.states()}, in_float32);
    products_.multiply(x, mamba.selection, selected);
    const auto part = [&](std::int64_t first, std::int64_t width, const norm& params) {
      const auto numbers = selected.narrow(1, first, width).contiguous();
      return params.weight.defined() ? at::rms_norm(numbers, {width}, params.weight.to(at::kFloat), params.epsilon)
                                     : numbers;
    };
    selection result{.step = at::empty_like(x, in_float32),
                     .b = part(mamba.rank(), mamba.states(), mamba.b_norm),
                     .c = part(mamba.rank() + mamba.states(), mamba.states(), mamba.c_norm)};
    products_.multiply(part(0, mamba.rank(), mamba.step_norm).to(x.scalar_type()), mamba.step, result.step);
    return result;
  }

  static void gate(const at::Tensor& gate_up, const at::Tensor& out) {
    cuda::gated_activation({.gate_up = gate_up.const_data_ptr(),
                            .out = out.mutable_data_ptr(),
                            .type = number_of(out),
                            .rows = size_of(out, 0),
                            .width = size_of(out, 1)},
                           current_stream());
  }

  static void* sinks_of(const qkv_rows& numbers, const cache::device_layer& layer) {
    return layer.span.sinks > 0 ? numbers.sink_q.mutable_data_ptr() : nullptr;
  }

  const int generation_;
  const bool batch_invariant_;
  cuda_products products_;
  cuda_attention attention_;
};

}  // namespace

std::unique_ptr<operators> make_cuda_operators(int device, const backend_switches& switches,
                                               std::shared_ptr<prompt_attention_log> attended) {
  return std::make_unique<cuda_operators>(*at::cuda::getDeviceProperties(device), false, switches, std::move(attended));
}

std::unique_ptr<operators> make_batch_invariant_cuda_operators(int device) {
  return std::make_unique<cuda_operators>(*at::cuda::getDeviceProperties(device), true, backend_switches{}, nullptr);
}

}  // namespace cogen::device
