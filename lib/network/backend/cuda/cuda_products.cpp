#include "network/backend/cuda/cuda_products.hpp"

#include "network/backend/cuda/batch_invariant_parts.hpp"
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
constexpr std::int64_t few_rows = 8, few_packed_rows = most_unrounded_rows;
static_assert(few_rows <= cuda::most_normed_rows && few_packed_rows <= cuda::most_linear_rows);

/// Whether LibTorch has products in fp8 for it, with scales of rows.
bool has_fp8_products(const cudaDeviceProp& device) {
  return device.major == 9 || device.major == 10 || (device.major == 8 && device.minor == 9);
}

bool product_has_kernel(const at::Tensor& x, const projection& by) {
  return x.size(0) <= (by.scales.defined() ? few_packed_rows : few_rows) && is_aligned(x.size(1));
}

/// More rows are read once to be normed, and not by each multiprocessor.
bool norms_within_product(const at::Tensor& x, const norm& by) {
  return x.size(0) <= few_rows && norm_has_kernel(x, by);
}

cuda::add_rms_norm_operands norm_of(const at::Tensor& x, const norm& by, const at::Tensor& out) {
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

at::Tensor normed_by_kernel(const at::Tensor& x, const norm& by) {
  auto out = at::empty(x.sizes(), by.weight.options());
  cuda::add_rms_norm(norm_of(x, by, out), current_stream());
  return out;
}

quantized_rows rows_in_fp8(const at::Tensor& x) {
  return {at::empty(x.sizes(), x.options().dtype(at::kFloat8_e4m3fn)),
          at::empty({x.size(0)}, x.options().dtype(at::kFloat)), kernels::weight_packing::fp8};
}

/// The same as rounded(normed_by_kernel(x, by)).
quantized_rows rounded_normed(const at::Tensor& x, const norm& by) {
  auto rows = rows_in_fp8(x);
  auto operands = norm_of(x, by, rows.codes);
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

void multiply_rounded(const quantized_rows& x, const projection& by, const at::Tensor& y) {
  const bool is_result = y.scalar_type() == at::kBFloat16 && y.is_contiguous();
  const auto made = is_result ? y : at::empty(y.sizes(), y.options().dtype(at::kBFloat16));
  multiply_in_fp8(x, by, made);
  if (!is_result) y.copy_(made);
  if (by.bias.defined()) y.add_(by.bias);
}

}  // namespace

bool norm_has_kernel(const at::Tensor& x, const norm& by) {
  return by.weight.defined() && !by.is_layer_norm && by.weight_offset == 0 && !by.bias.defined() &&
         x.scalar_type() == at::kFloat && x.is_contiguous() && is_aligned(x.size(1));
}

cuda_products::cuda_products(const cudaDeviceProp& device, bool batch_invariant)
    : processors_(device.multiProcessorCount),
      batch_invariant_(batch_invariant),
      multiplies_fp8_(!batch_invariant && has_fp8_products(device)) {}

bool cuda_products::has_kernel(const at::Tensor& x, const projection& by) const {
  if (!batch_invariant_) return product_has_kernel(x, by);
  if (!is_aligned(x.size(1))) refuse_batch_invariant("products of rows whose lengths are no multiples of 8");
  return true;
}

cuda::linear_operands cuda_products::product_of(const at::Tensor& x, const projection& by, const at::Tensor& y) const {
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

cuda_products::product_of_rows cuda_products::product_of_norm(const norm_input& input, const norm& before,
                                                              const projection& by, const at::Tensor& y) const {
  const bool begun = input.weighted.defined(), within = !begun && norms_within_product(input.x, before);
  const auto rows = begun ? input.weighted : within ? input.x : rows_for(by, input.x, before);
  auto product = product_of(rows, by, y);
  product.epsilon = static_cast<float>(before.epsilon);
  if (begun) product.squares = input.squares.const_data_ptr<float>();
  if (within) product.norm = before.weight.const_data_ptr();
  return {rows, product};
}

at::Tensor cuda_products::rows_for(const projection& by, const at::Tensor& x, const norm& before) const {
  if (norm_has_kernel(x, before)) return normed_by_kernel(x, before);
  if (batch_invariant_ && before.weight.defined()) refuse_batch_invariant("norms of such rows");
  return device::normed(x, before).to(numbers_of(by).scalar_type()).contiguous();
}

bool cuda_products::in_fp8(const at::Tensor& x, const projection& by) const {
  return multiplies_fp8_ && rounds_rows(x, by);
}

void cuda_products::multiply_normed(const at::Tensor& x, const norm& before, const projection& by,
                                    const at::Tensor& y) {
  if (in_fp8(x, by) && norm_has_kernel(x, before)) return multiply_rounded(rounded_normed(x, before), by, y);
  multiply(rows_for(by, x, before), by, y);
}

void cuda_products::multiply_normed_in_parts(const at::Tensor& x, const norm& before, const projection& by,
                                             const at::Tensor& y) {
  const auto outputs = by.weights.size(0);
  if (in_fp8(x, by) || !by.scales.defined() || outputs <= unpacked_outputs) return multiply_normed(x, before, by, y);
  const auto rows = rows_for(by, x, before);
  for (std::int64_t first = 0; first < outputs; first += unpacked_outputs) {
    const auto count = std::min(unpacked_outputs, outputs - first);
    multiply(rows, outputs_of(by, first, count), y.narrow(1, first, count));
  }
}

/// By cuBLASLt, and where that has no algorithm, by LibTorch.
void cuda_products::multiply(const at::Tensor& x, const projection& by, const at::Tensor& y) {
  if (in_fp8(x, by)) return multiply_rounded(rounded(x), by, y);
  const auto weights = weights_of(by, x.size(1));
  auto out = y;
  const auto bias_within = out.scalar_type() == x.scalar_type() ? by.bias : at::Tensor();
  if (library_.multiply({.x = x, .weights = weights, .bias = bias_within, .y = out})) {
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

void cuda_products::multiply_and_add(const at::Tensor& x, const projection& by, at::Tensor sum) {
  if (by.bias.defined()) sum.add_(by.bias);
  if (in_fp8(x, by)) {
    const auto made = at::empty(sum.sizes(), sum.options().dtype(at::kBFloat16));
    multiply_in_fp8(rounded(x), by, made);
    sum.add_(made);
    return;
  }
  const auto weights = weights_of(by, x.size(1));
  if (!library_.multiply({.x = x, .weights = weights, .y = sum, .adds = true}))
    at::addmm_out(sum, sum, x, weights.t(), at::kFloat);
}

/// The products of a slice of rows after the other, where there are more than a kernel takes: another one has the
/// same results and reads whole weights less often.
void cuda_products::run(const cuda::linear_operands& all) {
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

at::Tensor cuda_products::weights_of(const projection& by, std::int64_t inputs) {
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

}  // namespace cogen::device
