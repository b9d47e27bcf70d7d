#include "network/backend/cuda/cuda_products.hpp"

#include "network/backend/cuda/batch_invariance.hpp"
#include "network/backend/fp8_product.hpp"
#include "network/backend/tensor/norms.hpp"
#include "network/kernels/dequantize_cuda.hpp"
#include "network/kernels/quantize_rows_cuda.hpp"
#include "network/kernels/rms_norm_cuda.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cstddef>

namespace cogen::device {

namespace {

namespace cuda = kernels::cuda;

/// Above this number of rows, cuBLASLt's products are faster: of whole weights, and of packed ones, which it does not
/// read; of fp8, LibTorch's.
constexpr std::int64_t few_rows = 8, few_packed_rows = max_unrounded_rows;
static_assert(few_rows <= cuda::max_normed_rows && few_packed_rows <= cuda::max_linear_rows);

/// Whether LibTorch has products in fp8 for it, with scales of rows.
bool has_fp8_products(const cudaDeviceProp& device) {
  return device.major == 9 || device.major == 10 || (device.major == 8 && device.minor == 9);
}

bool product_has_kernel(const at::Tensor& x, const projection& linear) {
  return x.size(0) <= (linear.scales.defined() ? few_packed_rows : few_rows) && is_aligned(x.size(1));
}

/// More rows are read once to be normed, and not by each multiprocessor.
bool norms_within_product(const at::Tensor& x, const norm& params) {
  return x.size(0) <= few_rows && norm_has_kernel(x, params);
}

cuda::add_rms_norm_operands norm_of(const at::Tensor& x, const norm& params, const at::Tensor& out) {
  return {.residual = x.mutable_data_ptr(),
          .residual_type = number_of(x),
          .weight = params.weight.const_data_ptr(),
          .weight_type = number_of(params.weight),
          .epsilon = static_cast<float>(params.epsilon),
          .out = out.mutable_data_ptr(),
          .type = number_of(params.weight),
          .rows = size_of(x, 0),
          .width = size_of(x, 1)};
}

at::Tensor normed_by_kernel(const at::Tensor& x, const norm& params) {
  auto out = at::empty(x.sizes(), params.weight.options());
  cuda::add_rms_norm(norm_of(x, params, out), current_stream());
  return out;
}

quantized_rows rows_in_fp8(const at::Tensor& x) {
  return {at::empty(x.sizes(), x.options().dtype(at::kFloat8_e4m3fn)),
          at::empty({x.size(0)}, x.options().dtype(at::kFloat)), kernels::weight_packing::fp8};
}

/// The same as rounded(normed_by_kernel(x, params)).
quantized_rows rounded_normed(const at::Tensor& x, const norm& params) {
  auto rows = rows_in_fp8(x);
  auto operands = norm_of(x, params, rows.codes);
  operands.scales = rows.scales.mutable_data_ptr<float>();
  cuda::add_rms_norm(operands, current_stream());
  return rows;
}

quantized_rows rounded(const at::Tensor& x) {
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

void multiply_rounded(const quantized_rows& x, const projection& linear, const at::Tensor& y) {
  const bool is_result = y.scalar_type() == at::kBFloat16 && y.is_contiguous();
  const auto result = is_result ? y : at::empty(y.sizes(), y.options().dtype(at::kBFloat16));
  multiply_in_fp8(x, linear, result);
  if (!is_result) y.copy_(result);
  if (linear.bias.defined()) y.add_(linear.bias);
}

}  // namespace

bool norm_has_kernel(const at::Tensor& x, const norm& params) {
  return params.weight.defined() && !params.is_layer_norm && params.weight_offset == 0 && !params.bias.defined() &&
         x.scalar_type() == at::kFloat && x.is_contiguous() && is_aligned(x.size(1));
}

cuda_products::cuda_products(const cudaDeviceProp& device, bool batch_invariant)
    : processors_(device.multiProcessorCount),
      batch_invariant_(batch_invariant),
      multiplies_fp8_(!batch_invariant && has_fp8_products(device)) {}

bool cuda_products::has_kernel(const at::Tensor& x, const projection& linear) const {
  if (!batch_invariant_) return product_has_kernel(x, linear);
  if (!is_aligned(x.size(1))) refuse_batch_invariance("products of rows whose lengths are no multiples of 8");
  return true;
}

cuda::linear_operands cuda_products::product_of(const at::Tensor& x, const projection& linear,
                                                const at::Tensor& y) const {
  return {.x = x.const_data_ptr(),
          .weights = linear.weights.const_data_ptr(),
          .packing = linear.packing,
          .scales = linear.scales.defined() ? linear.scales.const_data_ptr() : nullptr,
          .bias = linear.bias.defined() ? linear.bias.const_data_ptr() : nullptr,
          .out = y.mutable_data_ptr(),
          .out_type = number_of(y),
          .type = number_of(numbers_of(linear)),
          .rows = size_of(x, 0),
          .inputs = size_of(x, 1),
          .outputs = size_of(y, 1),
          .blocks = processors_};
}

cuda_products::product_of_rows cuda_products::product_of_norm(const norm_input& input, const norm& pre_norm,
                                                              const projection& linear, const at::Tensor& y) const {
  const bool begun = input.weighted.defined(), within = !begun && norms_within_product(input.x, pre_norm);
  const auto rows = begun ? input.weighted : within ? input.x : rows_for(linear, input.x, pre_norm);
  auto product = product_of(rows, linear, y);
  product.epsilon = static_cast<float>(pre_norm.epsilon);
  if (begun) product.squares = input.squares.const_data_ptr<float>();
  if (within) product.norm = pre_norm.weight.const_data_ptr();
  return {rows, product};
}

at::Tensor cuda_products::rows_for(const projection& linear, const at::Tensor& x, const norm& pre_norm) const {
  if (norm_has_kernel(x, pre_norm)) return normed_by_kernel(x, pre_norm);
  if (batch_invariant_ && pre_norm.weight.defined()) refuse_batch_invariance("norms of such rows");
  return device::normed(x, pre_norm).to(numbers_of(linear).scalar_type()).contiguous();
}

bool cuda_products::in_fp8(const at::Tensor& x, const projection& linear) const {
  return multiplies_fp8_ && rounds_rows(x, linear);
}

void cuda_products::multiply_normed(const at::Tensor& x, const norm& pre_norm, const projection& linear,
                                    const at::Tensor& y) {
  if (in_fp8(x, linear) && norm_has_kernel(x, pre_norm))
    return multiply_rounded(rounded_normed(x, pre_norm), linear, y);
  multiply(rows_for(linear, x, pre_norm), linear, y);
}

void cuda_products::multiply_normed_in_parts(const at::Tensor& x, const norm& pre_norm, const projection& linear,
                                             const at::Tensor& y) {
  const auto outputs = linear.weights.size(0);
  if (in_fp8(x, linear) || !linear.scales.defined() || outputs <= unpacked_outputs)
    return multiply_normed(x, pre_norm, linear, y);
  const auto rows = rows_for(linear, x, pre_norm);
  for (std::int64_t first = 0; first < outputs; first += unpacked_outputs) {
    const auto count = std::min(unpacked_outputs, outputs - first);
    multiply(rows, outputs_of(linear, first, count), y.narrow(1, first, count));
  }
}

/// By cuBLASLt, and where that has no algorithm, by LibTorch.
void cuda_products::multiply(const at::Tensor& x, const projection& linear, const at::Tensor& y) {
  if (in_fp8(x, linear)) return multiply_rounded(rounded(x), linear, y);
  const auto weights = weights_of(linear, x.size(1));
  auto out = y;
  const auto bias_within = out.scalar_type() == x.scalar_type() ? linear.bias : at::Tensor();
  if (library_.multiply({.x = x, .weights = weights, .bias = bias_within, .y = out})) {
    if (linear.bias.defined() && !bias_within.defined()) out.add_(linear.bias);
    return;
  }
  if (out.scalar_type() != x.scalar_type()) {
    at::mm_out(out, x, weights.t(), out.scalar_type());
    if (linear.bias.defined()) out.add_(linear.bias);
  } else if (linear.bias.defined()) {
    at::addmm_out(out, linear.bias, x, weights.t());
  } else {
    at::mm_out(out, x, weights.t());
  }
}

void cuda_products::multiply_and_add(const at::Tensor& x, const projection& linear, at::Tensor sum) {
  if (linear.bias.defined()) sum.add_(linear.bias);
  if (in_fp8(x, linear)) {
    const auto product = at::empty(sum.sizes(), sum.options().dtype(at::kBFloat16));
    multiply_in_fp8(rounded(x), linear, product);
    sum.add_(product);
    return;
  }
  const auto weights = weights_of(linear, x.size(1));
  if (!library_.multiply({.x = x, .weights = weights, .y = sum, .adds = true}))
    at::addmm_out(sum, sum, x, weights.t(), at::kFloat);
}

/// The products of a slice of rows after the other, where there are more than a kernel takes: another one has the
/// same results and reads whole weights less often.
void cuda_products::run(const cuda::linear_operands& product) {
  if (product.rows > cuda::max_linear_rows && product.norm == nullptr &&
      product.packing == kernels::weight_packing::whole)
    return cuda::linear_of_many_rows(product, current_stream());
  for (int first = 0; first < product.rows; first += cuda::max_rows_of(product)) {
    const auto row = [&](const void* numbers, cuda::number type, int width) {
      return static_cast<const std::byte*>(numbers) + std::int64_t{first} * width * cuda::bytes_of(type);
    };
    auto some = product;
    some.rows = std::min(cuda::max_rows_of(product), product.rows - first);
    some.x = row(product.x, product.norm ? cuda::number::f32 : product.type, product.inputs);
    some.out = const_cast<std::byte*>(row(product.out, product.out_type, product.outputs));
    cuda::linear(some, current_stream());
  }
}

at::Tensor cuda_products::weights_of(const projection& linear, std::int64_t inputs) {
  if (!linear.scales.defined()) return linear.weights;
  const auto numbers = at::empty({linear.weights.size(0), inputs}, linear.scales.options());
  cuda::dequantize({.codes = linear.weights.const_data_ptr(),
                    .scales = linear.scales.const_data_ptr(),
                    .packing = linear.packing,
                    .type = number_of(numbers),
                    .inputs = static_cast<int>(inputs),
                    .outputs = size_of(linear.weights, 0)},
                   numbers.mutable_data_ptr(), current_stream());
  return numbers;
}

}  // namespace cogen::device
