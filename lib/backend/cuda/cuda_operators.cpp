#include "backend/cuda/cuda_operators.hpp"

#include "backend/cuda/batch_invariant_parts.hpp"
#include "backend/cuda/cublaslt_products.hpp"
#include "backend/cuda/cudnn_attention.hpp"
#include "backend/cuda/prompt_attention.hpp"
#include "backend/fp8_product.hpp"
#include "backend/tensor/heads.hpp"
#include "backend/tensor/norms.hpp"
#include "backend/tensor/tensor_operators.hpp"
#include "kernels/activation_cuda.hpp"
#include "kernels/attention_cuda.hpp"
#include "kernels/dequantize_cuda.hpp"
#include "kernels/embed_cuda.hpp"
#include "kernels/gather_cuda.hpp"
#include "kernels/linear_cuda.hpp"
#include "kernels/quantize_cuda.hpp"
#include "kernels/quantize_rows_cuda.hpp"
#include "kernels/rms_norm_cuda.hpp"
#include "kernels/rope_cuda.hpp"
#include "kernels/selective_scan_cuda.hpp"
#include "sampling/sample_cuda.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAException.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
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
    case at::kFloat8_e4m3fn:
      return cuda::number::fp8;
    default:
      throw std::invalid_argument(std::string("the device's kernels know no ") + c10::toString(of.scalar_type()));
  }
}

/// Above this number of rows, cuBLASLt's products are faster: of whole weights, and of packed ones, which it does not
/// read; of fp8, LibTorch's.
constexpr std::int64_t few_rows = 8, few_packed_rows = most_unrounded_rows;
static_assert(few_rows <= cuda::most_normed_rows && few_packed_rows <= cuda::most_linear_rows);
static_assert(squared_numbers == cuda::squared_numbers);

/// Of attention that is batch-invariant, whose keys are cut into many parts: it is computed for as many rows at a time
/// as have room in so many bytes.
constexpr std::size_t fixed_splits_bytes = std::size_t{64} << 20;

/// Hopper. FlashAttention-2 is made for the generation before it (Shah et al., arXiv:2407.08608, compare both there).
constexpr int least_cudnn_generation = 9;

int size_of(const at::Tensor& of, std::int64_t dimension) { return static_cast<int>(of.size(dimension)); }

template <class T>
const T* numbers(const at::Tensor& of) {
  return of.defined() ? of.const_data_ptr<T>() : nullptr;
}

template <class T>
T* bytes_as(const at::Tensor& of) {
  return static_cast<T*>(of.mutable_data_ptr());
}

/// Whether LibTorch has products in fp8 for it, with scales of rows.
bool multiplies_fp8(const cudaDeviceProp& device) {
  return device.major == 9 || device.major == 10 || (device.major == 8 && device.minor == 9);
}

cudaStream_t current_stream() { return at::cuda::getCurrentCUDAStream(); }

/// Consecutive tokens of a step.
struct token_range {
  std::int64_t first;
  std::int64_t count;
};

cuda::new_tokens tokens_of(const step_rows& rows, const token_range& which) {
  return {numbers<std::int32_t>(rows.slots) + which.first, numbers<std::int32_t>(rows.positions) + which.first,
          static_cast<int>(which.count)};
}

cuda::quantized_format format_of(const cache::group_format& format) {
  return {format.bits, format.axis == cache::group_axis::channel, format.group};
}

cuda::quantized_blocks quantized_of(const cache::device_layer& layer) {
  if (!layer.quantization) return {};
  return {.blocks = bytes_as<std::byte>(layer.quantized),
          .slot_stride = layer.quantized.stride(0),
          .keys = format_of(layer.quantization->keys),
          .values = format_of(layer.quantization->values),
          .residual = layer.quantization->residual};
}

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
at::Tensor in_one_row(const at::Tensor& of) {
  const auto width = of.stride(1);
  return of.as_strided({of.size(0) * of.stride(0) / width, of.size(2), of.size(3)}, {width, of.stride(2), 1});
}

/// Kernels read 16 bytes at a time.
bool is_aligned(std::int64_t numbers) { return numbers % 8 == 0; }

bool embedding_has_kernel(const embedding& from) {
  return from.scale == 1 && !from.to_hidden.weights.defined() && !from.positions.defined() &&
         !from.after.weight.defined() && is_aligned(from.width);
}

bool norm_has_kernel(const at::Tensor& x, const norm& by) {
  return by.weight.defined() && !by.is_layer_norm && by.weight_offset == 0 && !by.bias.defined() &&
         x.scalar_type() == at::kFloat && x.is_contiguous() && is_aligned(x.size(1));
}

bool product_has_kernel(const at::Tensor& x, const projection& by) {
  return x.size(0) <= (by.scales.defined() ? few_packed_rows : few_rows) && is_aligned(x.size(1));
}

/// In which a product computes.
const at::Tensor& numbers_of(const projection& by) { return by.scales.defined() ? by.scales : by.weights; }

/// Norms that a product begins: not of float16, as x times weights may be too large for it.
bool can_begin(const norm_input& into, const norm* by) {
  return by && into.weighted.defined() && into.weighted.scalar_type() == at::kBFloat16 && norm_has_kernel(into.x, *by);
}

/// More rows are read once to be normed, and not by each multiprocessor.
bool norms_within_product(const at::Tensor& x, const norm& by) {
  return x.size(0) <= few_rows && norm_has_kernel(x, by);
}

bool activation_has_kernel(const parts::activation& how, std::int64_t width) {
  return how.kind == kernels::activation::silu && how.gated && how.gate_scale == 1 && !how.gate_cutoff &&
         is_aligned(width);
}

bool only_adds(const residual& how) {
  return !how.after.weight.defined() && how.scale == 1 && !how.post.weight.defined() && how.total == 1;
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

bool scan_has_kernel(const selective_scan& by) {
  constexpr std::int64_t most_taps = 8, most_states = 64;
  return by.taps() <= most_taps && by.states() <= most_states;
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
  /// Batch-invariant ones are those of kernels alone: neither cuDNN attends, nor are products in fp8.
  cuda_operators(const cudaDeviceProp& device, bool batch_invariant, const backend_switches& switches,
                 std::shared_ptr<prompt_attention_log> attended)
      : processors_(device.multiProcessorCount),
        generation_(device.major),
        batch_invariant_(batch_invariant),
        multiplies_fp8_(!batch_invariant && multiplies_fp8(device)),
        attended_(std::move(attended)),
        cudnn_(!batch_invariant && switches.cudnn && generation_ >= least_cudnn_generation
                   ? std::make_unique<cudnn_attention>(attended_)
                   : nullptr) {}

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

  quantized_rows pack(const quantized_rows& rows) override { return packed(rows); }

  void embed(const embedding& from, const step_rows& rows, const at::Tensor& last, const at::Tensor& x) override {
    const auto& table = from.table;
    if (!embedding_has_kernel(from)) return tensor_operators::embed(from, rows, last, x);
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

  void norm_linear(const norm_input& input, const norm& before, const projection& by, const at::Tensor& y) override {
    const auto& x = input.x;
    if (!by.adapters.empty()) {
      const auto rows = rows_for(by, x, before);
      norm_linear(rows, {}, {.weights = by.weights, .bias = by.bias, .scales = by.scales, .packing = by.packing}, y);
      return adapt(rows, by, y);
    }
    if (is_kernels_product(x, by)) return run(product_of_norm(input, before, by, y));
    if (multiplies_in_fp8(x, by)) return multiply_normed(x, before, by, y);
    multiply_in_parts(rows_for(by, x, before), by, y);
  }

  void norm_activated(const norm_input& input, const norm& before, const projection& by, const parts::activation& how,
                      const at::Tensor& y) override {
    const auto& x = input.x;
    if (!by.adapters.empty() || !activation_has_kernel(how, y.size(1)) || !norm_has_kernel(x, before))
      return tensor_operators::norm_activated(input, before, by, how, y);
    if (!is_kernels_product(x, by)) {
      const auto gate_up = at::empty({x.size(0), by.weights.size(0)}, y.options());
      multiply_normed(x, before, by, gate_up);
      return gate(gate_up, y);
    }
    auto product = product_of_norm(input, before, by, y);
    product.operands.result = cuda::linear_result::gated;
    run(product);
  }

  bool linear_add(const at::Tensor& y, const projection& by, const residual& how, const norm_input& into) override {
    const auto& x = into.x;
    if (!by.adapters.empty() || !only_adds(how)) return tensor_operators::linear_add(y, by, how, x);
    if (!is_kernels_product(y, by)) {
      auto sum = x;
      if (by.bias.defined()) sum.add_(by.bias);
      if (multiplies_in_fp8(y, by)) {
        const auto made = at::empty(x.sizes(), x.options().dtype(at::kBFloat16));
        multiply_in_fp8(rounded(y), by, made);
        sum.add_(made);
        return false;
      }
      const auto weights = weights_of(by, y.size(1));
      if (!products_.multiply({.x = y, .weights = weights, .y = sum, .adds = true}))
        at::addmm_out(sum, sum, y, weights.t(), at::kFloat);
      return false;
    }
    auto product = product_of(y, by, x);
    product.result = cuda::linear_result::added;
    const bool begins = !batch_invariant_ && can_begin(into, how.next);
    if (begins)
      product.next = {how.next->weight.const_data_ptr(), into.weighted.mutable_data_ptr(),
                      into.squares.mutable_data_ptr<float>()};
    run(product);
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
      if (batch_invariant_) refuse_batch_invariant("attention with such heads");
      return tensor_operators::attend(numbers, shape, rows, layer, out);
    }
    const token_range single{0, rows.single}, others{rows.single, numbers.qkv.size(0) - rows.single};
    if (single.count > 0) attend_each(numbers, shape, rows, single, layer, out);
    if (!rows.prompts.empty()) attend_prompts(numbers, shape, rows, others, layer, out);
    if (shape.output_gate) gate_outputs(numbers, shape, out);
  }

  void scan(const at::Tensor& x_and_gate, const selective_scan& by, const step_rows& rows,
            const cache::device_layer& layer, const at::Tensor& out) override {
    if (!scan_has_kernel(by)) return tensor_operators::scan(x_and_gate, by, rows, layer, out);
    const auto x = at::empty({x_and_gate.size(0), by.channels()}, x_and_gate.options());
    cuda::causal_convolution(sequences_of(rows),
                             {.x = x_and_gate.const_data_ptr(),
                              .x_stride = x_and_gate.stride(0),
                              .weight = numbers<float>(by.convolves.weights),
                              .bias = numbers<float>(by.convolves.biases),
                              .inputs = states_of(layer, 0),
                              .out = x.mutable_data_ptr(),
                              .type = number_of(x),
                              .channels = size_of(x, 1),
                              .taps = size_of(by.convolves.weights, 0)},
                             current_stream());
    const auto selected = selected_by(x, by);
    cuda::selective_scan(sequences_of(rows),
                         {.x = x.const_data_ptr(),
                          .gate = x_and_gate.narrow(1, by.channels(), by.channels()).const_data_ptr(),
                          .gate_stride = x_and_gate.stride(0),
                          .step = numbers<float>(selected.step),
                          .b = numbers<float>(selected.b),
                          .c = numbers<float>(selected.c),
                          .bc_stride = by.states(),
                          .decay = numbers<float>(by.decay),
                          .skip = numbers<float>(by.skip),
                          .h = states_of(layer, (by.taps() - 1) * by.channels()),
                          .out = out.mutable_data_ptr(),
                          .out_stride = out.stride(0),
                          .type = number_of(out),
                          .channels = size_of(x, 1),
                          .states = size_of(by.decay, 0)},
                         current_stream());
  }

  void sample(const at::Tensor& logits, const step_sampling& how, const at::Tensor& last,
              const step_samples& samples) override {
    C10_CUDA_CHECK(cogen::cuda::sample(
        {.logits = logits.mutable_data_ptr<float>(),
         .stride = logits.stride(0),
         .vocabulary = size_of(logits, 1),
         .rows = size_of(logits, 0),
         .sampling = bytes_as<const sampling_row>(how.rows),
         .biases = bytes_as<const token_bias>(how.biases),
         .counts = bytes_as<const token_count>(how.counts),
         .masks = bytes_as<const std::uint64_t>(how.masks),
         .raw_biased = how.raw.mutable_data_ptr<float>(),
         .raw_counted = how.raw.mutable_data_ptr<float>() + how.biases.numel() / std::int64_t{sizeof(token_bias)},
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

  bool is_kernels_product(const at::Tensor& x, const projection& by) const {
    if (!batch_invariant_) return product_has_kernel(x, by);
    if (!is_aligned(x.size(1))) refuse_batch_invariant("products of rows whose lengths are no multiples of 8");
    return true;
  }

  cuda::linear_operands product_of(const at::Tensor& x, const projection& by, const at::Tensor& y) const {
    return {.x = x.const_data_ptr(),
            .weights = by.weights.const_data_ptr(),
            .packing = by.packing,
            .scales = by.scales.defined() ? by.scales.const_data_ptr() : nullptr,
            .bias = by.bias.defined() ? by.bias.const_data_ptr() : nullptr,
            .out = y.mutable_data_ptr(),
            .out_type = number_of(y),
            .type = number_of(numbers_of(by)),
            .rows = size_of(x, 0),
            .inputs = size_of(x, 1),
            .outputs = size_of(y, 1),
            .blocks = processors_};
  }

  /// With rows that may have been made for it.
  struct product_of_rows {
    at::Tensor rows;
    cuda::linear_operands operands;
  };

  product_of_rows product_of_norm(const norm_input& input, const norm& before, const projection& by,
                                  const at::Tensor& y) const {
    const bool begun = input.weighted.defined(), within = !begun && norms_within_product(input.x, before);
    const auto rows = begun ? input.weighted : within ? input.x : rows_for(by, input.x, before);
    auto product = product_of(rows, by, y);
    product.epsilon = static_cast<float>(before.epsilon);
    if (begun) product.squares = input.squares.const_data_ptr<float>();
    if (within) product.norm = before.weight.const_data_ptr();
    return {rows, product};
  }

  static cuda::add_rms_norm_operands norm_of(const at::Tensor& x, const norm& by, const at::Tensor& out) {
    return {.residual = x.mutable_data_ptr(),
            .residual_type = number_of(x),
            .weight = by.weight.const_data_ptr(),
            .weight_type = number_of(by.weight),
            .epsilon = static_cast<float>(by.epsilon),
            .out = out.mutable_data_ptr(),
            .type = number_of(by.weight),
            .rows = size_of(x, 0),
            .width = size_of(x, 1)};
  }

  static at::Tensor normed(const at::Tensor& x, const norm& by) {
    auto out = at::empty(x.sizes(), by.weight.options());
    cuda::add_rms_norm(norm_of(x, by, out), current_stream());
    return out;
  }

  /// The same as rounded(normed(x, by)).
  static quantized_rows rounded_normed(const at::Tensor& x, const norm& by) {
    auto rows = rows_in_fp8(x);
    auto operands = norm_of(x, by, rows.codes);
    operands.scales = rows.scales.mutable_data_ptr<float>();
    cuda::add_rms_norm(operands, current_stream());
    return rows;
  }

  /// Rows as a product takes them.
  at::Tensor rows_for(const projection& by, const at::Tensor& x, const norm& before) const {
    if (norm_has_kernel(x, before)) return normed(x, before);
    if (batch_invariant_ && before.weight.defined()) refuse_batch_invariant("norms of such rows");
    return device::normed(x, before).to(numbers_of(by).scalar_type()).contiguous();
  }

  bool multiplies_in_fp8(const at::Tensor& x, const projection& by) const {
    return multiplies_fp8_ && rounds_rows(x, by);
  }

  static quantized_rows rows_in_fp8(const at::Tensor& x) {
    return {at::empty(x.sizes(), x.options().dtype(at::kFloat8_e4m3fn)),
            at::empty({x.size(0)}, x.options().dtype(at::kFloat)), kernels::weight_packing::fp8};
  }

  static quantized_rows rounded(const at::Tensor& x) {
    auto rows = rows_in_fp8(x);
    cuda::quantize_rows({.x = x.const_data_ptr(),
                         .type = number_of(x),
                         .codes = rows.codes.mutable_data_ptr(),
                         .scales = rows.scales.mutable_data_ptr<float>(),
                         .rows = size_of(x, 0),
                         .width = size_of(x, 1)},
                        current_stream());
    return rows;
  }

  static void multiply_rounded(const quantized_rows& x, const projection& by, const at::Tensor& y) {
    const bool is_result = y.scalar_type() == at::kBFloat16 && y.is_contiguous();
    const auto made = is_result ? y : at::empty(y.sizes(), y.options().dtype(at::kBFloat16));
    multiply_in_fp8(x, by, made);
    if (!is_result) y.copy_(made);
    if (by.bias.defined()) y.add_(by.bias);
  }

  void multiply_normed(const at::Tensor& x, const norm& before, const projection& by, const at::Tensor& y) {
    if (multiplies_in_fp8(x, by) && norm_has_kernel(x, before))
      return multiply_rounded(rounded_normed(x, before), by, y);
    multiply(rows_for(by, x, before), by, y);
  }

  /// Some outputs at a time: as numbers, packed weights of all of them would take more memory than a step has.
  void multiply_in_parts(const at::Tensor& x, const projection& by, const at::Tensor& y) {
    const auto outputs = by.weights.size(0);
    if (!by.scales.defined() || outputs <= unpacked_outputs) return multiply(x, by, y);
    for (std::int64_t first = 0; first < outputs; first += unpacked_outputs) {
      const auto count = std::min(unpacked_outputs, outputs - first);
      multiply(x, outputs_of(by, first, count), y.narrow(1, first, count));
    }
  }

  /// By cuBLASLt, and where that has no algorithm, by LibTorch.
  void multiply(const at::Tensor& x, const projection& by, const at::Tensor& y) {
    if (multiplies_in_fp8(x, by)) return multiply_rounded(rounded(x), by, y);
    const auto weights = weights_of(by, x.size(1));
    auto out = y;
    const auto bias_within = out.scalar_type() == x.scalar_type() ? by.bias : at::Tensor();
    if (products_.multiply({.x = x, .weights = weights, .bias = bias_within, .y = out})) {
      if (by.bias.defined() && !bias_within.defined()) out.add_(by.bias);
      return;
    }
    if (out.scalar_type() != x.scalar_type()) {
      at::mm_out(out, x, weights.t(), out.scalar_type());
      if (by.bias.defined()) out.add_(by.bias);
    } else if (by.bias.defined()) {
      at::addmm_out(out, by.bias, x, weights.t());
    } else {
      at::mm_out(out, x, weights.t());
    }
  }

  static void run(const product_of_rows& product) { run(product.operands); }

  /// The products of a slice of rows after the other, where there are more than a kernel takes: another one has the
  /// same results and reads whole weights less often.
  static void run(const cuda::linear_operands& all) {
    if (all.rows > cuda::most_linear_rows && all.norm == nullptr && all.packing == kernels::weight_packing::whole)
      return cuda::linear_of_many_rows(all, current_stream());
    for (int first = 0; first < all.rows; first += cuda::most_rows_of(all)) {
      const auto row = [&](const void* of, cuda::number type, int width) {
        return static_cast<const std::byte*>(of) + std::int64_t{first} * width * cuda::bytes_of(type);
      };
      auto some = all;
      some.rows = std::min(cuda::most_rows_of(all), all.rows - first);
      some.x = row(all.x, all.norm ? cuda::number::f32 : all.type, all.inputs);
      some.out = const_cast<std::byte*>(row(all.out, all.out_type, all.outputs));
      cuda::linear(some, current_stream());
    }
  }

  at::Tensor weights_of(const projection& by, std::int64_t inputs) const override {
    if (!by.scales.defined()) return by.weights;
    const auto numbers = at::empty({by.weights.size(0), inputs}, by.scales.options());
    cuda::dequantize({.codes = by.weights.const_data_ptr(),
                      .scales = by.scales.const_data_ptr(),
                      .packing = by.packing,
                      .type = number_of(numbers),
                      .inputs = static_cast<int>(inputs),
                      .outputs = size_of(by.weights, 0)},
                     numbers.mutable_data_ptr(), current_stream());
    return numbers;
  }

  /// What a scan selects by its input: [tokens, channels], and twice [tokens, states]; float32.
  struct selection {
    at::Tensor step;
    at::Tensor b;
    at::Tensor c;
  };

  selection selected_by(const at::Tensor& x, const selective_scan& by) {
    const auto in_float32 = x.options().dtype(at::kFloat);
    const auto all = at::empty({x.size(0), by.rank() + 2 * by.states()}, in_float32);
    multiply(x, by.selection, all);
    const auto part = [&](std::int64_t first, std::int64_t width, const norm& how) {
      const auto numbers = all.narrow(1, first, width).contiguous();
      return how.weight.defined() ? at::rms_norm(numbers, {width}, how.weight.to(at::kFloat), how.epsilon) : numbers;
    };
    selection made{.step = at::empty_like(x, in_float32),
                   .b = part(by.rank(), by.states(), by.b_norm),
                   .c = part(by.rank() + by.states(), by.states(), by.c_norm)};
    multiply(part(0, by.rank(), by.step_norm).to(x.scalar_type()), by.step, made.step);
    return made;
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

  /// Each query by itself, for any layer.
  void attend_each(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                   const token_range& which, const cache::device_layer& layer, const at::Tensor& out) {
    const auto heads = static_cast<int>(shape.heads), kv_heads = static_cast<int>(shape.kv_heads);
    const auto reach = reach_of(layer);
    if (!batch_invariant_)
      return attend_each(
          numbers, shape, rows, which,
          {.splits = cuda::suggested_splits(static_cast<int>(which.count), kv_heads, reach, processors_)}, layer, out);
    const key_cut cut{.splits = cuda::fixed_splits(reach), .least_blocks = cuda::least_fixed_blocks};
    const auto row_bytes = cuda::decode_workspace_bytes(1, heads, static_cast<int>(shape.head_dim), cut.splits);
    const auto at_once = static_cast<std::int64_t>(fixed_splits_bytes / std::max<std::size_t>(row_bytes, 1));
    for (std::int64_t begin = 0; begin < which.count; begin += at_once)
      attend_each(numbers, shape, rows, {which.first + begin, std::min(at_once, which.count - begin)}, cut, layer, out);
  }

  struct key_cut {
    int splits = 1;
    int least_blocks = 1;
  };

  void attend_each(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                   const token_range& which, const key_cut& cut, const cache::device_layer& layer,
                   const at::Tensor& out) {
    const int count = static_cast<int>(which.count);
    const int heads = static_cast<int>(shape.heads);
    const auto keys = layer_of(layer);
    const auto bytes = cuda::decode_workspace_bytes(count, heads, keys.head_dim, cut.splits);
    const auto of = [&](const at::Tensor& all) { return all.narrow(0, which.first, which.count); };
    cuda::decode_attention(keys, tokens_of(rows, which),
                           {.q = of(numbers.qkv).const_data_ptr(),
                            .q_stride = numbers.qkv.stride(0),
                            .type = number_of(numbers.qkv),
                            .heads = heads,
                            .scale = shape.scale,
                            .out = of(out).mutable_data_ptr(),
                            .sink_q = layer.span.sinks > 0 ? of(numbers.sink_q).const_data_ptr() : nullptr,
                            .workspace = workspace(bytes),
                            .counters = cut.splits > 1 ? counters(which.count * heads) : nullptr,
                            .splits = cut.splits,
                            .least_blocks = cut.least_blocks},
                           current_stream());
  }

  /// Those of the others.
  void attend_prompts(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                      const token_range& which, const cache::device_layer& layer, const at::Tensor& out) {
    if (layer.span.sinks > 0 || batch_invariant_) return attend_each(numbers, shape, rows, which, layer, out);
    const auto queries = queries_of(numbers, shape, which);
    const auto result = out.narrow(0, which.first, which.count);
    const bool as_it_lies = layer.ring == 0 && layer.keys.scalar_type() == numbers.qkv.scalar_type();
    const bool together = as_it_lies && !splits_over_keys(rows.prompts, shape.heads, processors_);
    if (together && cudnn_ && cudnn_->attend(queries, shape, rows, layer, result)) return attended_->add_by_cudnn();
    attended_->add_by_flash_attention();
    if (together)
      attend_together(queries, shape, rows, layer, result);
    else
      attend_one_by_one(queries, shape, rows, layer, as_it_lies, result);
  }

  /// How far back and ahead a query attends, as parameters of flash attention.
  struct reach {
    explicit reach(int window) {
      if (window > 0) left = window - 1, right = 0;
    }
    std::optional<std::int64_t> left;
    std::optional<std::int64_t> right;
  };

  static void attend_together(const at::Tensor& queries, const attention_shape& shape, const step_rows& rows,
                              const cache::device_layer& layer, const at::Tensor& out) {
    const reach span(layer.span.window);
    const auto attended = std::get<0>(at::_flash_attention_forward(
        queries, in_one_row(layer.keys), in_one_row(layer.values), rows.prompt_starts, rows.prompt_origins,
        rows.longest, rows.reach, /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false,
        std::optional<double>(shape.scale), span.left, span.right, rows.prompt_lengths));
    out.copy_(attended.flatten(1));
  }

  struct keys_values {
    at::Tensor keys;    // [1, tokens, kv_heads, head_dim]
    at::Tensor values;  // the same
  };

  /// One prompt after the other: flash attention splits the keys of one where its queries are few, and does not read
  /// what does not lie as it is multiplied.
  static void attend_one_by_one(const at::Tensor& queries, const attention_shape& shape, const step_rows& rows,
                                const cache::device_layer& layer, bool as_it_lies, const at::Tensor& out) {
    const reach span(layer.span.window);
    std::int64_t begin = 0;
    for (const auto& row : rows.prompts) {
      const auto first = cache::first_seen(layer.span, static_cast<int>(row.held));
      const auto seen = as_it_lies ? in_place(layer, row, first) : gathered(layer, row, first, queries.options());
      const auto attended = std::get<0>(at::_flash_attention_forward(
          queries.narrow(0, begin, row.count).unsqueeze(0), seen.keys, seen.values, std::nullopt, std::nullopt,
          row.count, seen.keys.size(1), /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false,
          std::optional<double>(shape.scale), span.left, span.right));
      out.narrow(0, begin, row.count).copy_(attended[0].flatten(1));
      begin += row.count;
    }
  }

  /// What the prompt's queries attend to, from position `first` on.
  static keys_values in_place(const cache::device_layer& layer, const prompt_row& row, int first) {
    const auto seen = [&](const at::Tensor& of) {
      return of.narrow(0, row.slot, 1).narrow(1, first, row.held + row.count - first);
    };
    return {seen(layer.keys), seen(layer.values)};
  }

  static keys_values gathered(const cache::device_layer& layer, const prompt_row& row, int first,
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

  /// Captured graphs keep using the old one, so a larger one is added.
  void* workspace(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (workspaces_.empty() || workspaces_.back().nbytes() < bytes)
      workspaces_.push_back(
          at::empty({static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::kCUDA).dtype(at::kByte)));
    return workspaces_.back().mutable_data_ptr();
  }

  /// 0 between kernels.
  std::int32_t* counters(std::int64_t count) {
    if (counters_.empty() || counters_.back().numel() < count)
      counters_.push_back(at::zeros({count}, at::TensorOptions(at::kCUDA).dtype(at::kInt)));
    return counters_.back().mutable_data_ptr<std::int32_t>();
  }

  const int processors_;
  const int generation_;
  const bool batch_invariant_;
  const bool multiplies_fp8_;
  cublaslt_products products_;
  const std::shared_ptr<prompt_attention_log> attended_;
  const std::unique_ptr<cudnn_attention> cudnn_;  // null: it is not asked
  std::vector<at::Tensor> workspaces_;
  std::vector<at::Tensor> counters_;
};

}  // namespace

std::unique_ptr<operators> make_cuda_operators(int device, const backend_switches& switches,
                                               std::shared_ptr<prompt_attention_log> attended) {
  return std::make_unique<cuda_operators>(*at::cuda::getDeviceProperties(device), false, switches, std::move(attended));
}

std::unique_ptr<operators> make_batch_invariant_cuda_operators(int device) {
  return make_batch_invariant_parts(
      std::make_unique<cuda_operators>(*at::cuda::getDeviceProperties(device), true, backend_switches{}, nullptr));
}

}  // namespace cogen::device
