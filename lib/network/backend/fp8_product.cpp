#include "network/backend/fp8_product.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_mm.h>

namespace cogen::device {

bool rounds_rows(const at::Tensor& x, const projection& linear) {
  const auto is_aligned = [](std::int64_t side) { return side % 16 == 0; };
  return linear.packing == kernels::weight_packing::fp8 && x.size(0) > max_unrounded_rows && is_aligned(x.size(1)) &&
         is_aligned(linear.weights.size(0));
}

at::Tensor rounded_rows(const at::Tensor& x) {
  const auto rows = quantize_in_fp8(x.to(at::kFloat), at::kFloat);
  return (rows.codes.to(at::kFloat) * rows.scales.unsqueeze(1)).to(x.scalar_type());
}

quantized_rows codes_of(const projection& linear, std::int64_t inputs) {
  return {linear.weights.view(at::kFloat8_e4m3fn).narrow(1, 0, inputs), linear.scales.view(at::kFloat).squeeze(1),
          linear.packing};
}

void multiply_in_fp8(const quantized_rows& x, const projection& linear, const at::Tensor& y) {
  const auto weights = codes_of(linear, x.codes.size(1));
  auto out = y;
  at::_scaled_mm_out(out, x.codes, weights.codes.t(), x.scales.unsqueeze(1), weights.scales.unsqueeze(0), /*bias=*/{},
                     /*scale_result=*/{}, at::kBFloat16, /*use_fast_accum=*/true);
}

}  // namespace cogen::device
