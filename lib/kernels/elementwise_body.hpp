#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

#include <cstdint>

// Kernels that treat each row, or each element, by itself.
namespace cogen::kernels {
namespace {

// e^x to about 1e-7, relative; 0 below -86.6, e^88 above 88; NaN stays NaN.
// e^x = 2^n e^r with |r| <= ln(2) / 2 and a polynomial of degree 6 fitted for the smallest relative error.
COGEN_INLINE simd::f exponential(simd::f x) {
  const simd::f clamped = simd::min(simd::set(88.0F), simd::max(simd::set(-87.0F), x));
  const simd::f to_integer = simd::set(12583039.0F);  // 1.5 * 2^23 + 127: adding it leaves n + 127 in the lowest bits
  const simd::f shifted = simd::fma(clamped, simd::set(1.44269504F), to_integer);
  const simd::f n = simd::sub(shifted, to_integer);
  simd::f r = simd::fma(n, simd::set(-0.693359375F), clamped);
  r = simd::fma(n, simd::set(2.12194440e-4F), r);
  simd::f p = simd::set(1.3814467e-3F);
  p = simd::fma(p, r, simd::set(8.3687808e-3F));
  p = simd::fma(p, r, simd::set(4.1668393e-2F));
  p = simd::fma(p, r, simd::set(0.1666652F));
  p = simd::fma(p, r, simd::set(0.49999994F));
  p = simd::fma(p, r, simd::set(1.0F));
  p = simd::fma(p, r, simd::set(1.0F));
  const simd::f power = simd::from_bits(simd::shift_left<23>(simd::bits(shifted)));
  return simd::where_less(x, simd::set(-86.6F), simd::zero(), simd::mul(p, power));
}

struct row_span {
  std::int64_t at;
  int live;  // lanes of the row from `at` on, at most simd::width
};

template <class Body>
COGEN_INLINE void over_row(std::int64_t width, Body body) {
  std::int64_t at = 0;
  for (; at + simd::width <= width; at += simd::width) body(row_span{at, simd::width});
  if (at < width) body(row_span{at, static_cast<int>(width - at)});
}

COGEN_INLINE simd::f load(const float* from, row_span span) {
  return span.live == simd::width ? simd::load(from + span.at) : simd::load_first(from + span.at, span.live);
}

COGEN_INLINE void store(float* to, simd::f v, row_span span) {
  if (span.live == simd::width)
    simd::store(to + span.at, v);
  else
    simd::store_first(to + span.at, v, span.live);
}

void rms_norm_row(const rms_norm_job& job) {
  simd::f squares = simd::zero();
  over_row(
      job.width, [&](row_span span) __attribute__((always_inline)) {
        simd::f x = load(job.x, span);
        if (job.add) {
          x = simd::add(x, load(job.add, span));
          store(job.x, x, span);
        }
        squares = simd::fma(x, x, squares);
      });
  const float mean = simd::sum(squares) / static_cast<float>(job.width);
  const simd::f scale = simd::set(1.0F / __builtin_sqrtf(mean + job.epsilon));
  const simd::f offset = simd::set(job.weight_offset);
  over_row(
      job.width, [&](row_span span) __attribute__((always_inline)) {
        const simd::f weight = simd::add(load(job.weight, span), offset);
        store(job.out, simd::mul(simd::mul(load(job.x, span), scale), weight), span);
      });
}

void silu_mul_row(const float* gate, const float* up, float* out, std::int64_t width) {
  over_row(
      width, [&](row_span span) __attribute__((always_inline)) {
        const simd::f g = load(gate, span);
        const simd::f denominator = simd::add(simd::set(1.0F), exponential(simd::sub(simd::zero(), g)));
        store(out, simd::mul(simd::div(g, denominator), load(up, span)), span);
      });
}

}  // namespace
}  // namespace cogen::kernels
