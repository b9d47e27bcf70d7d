#pragma once

#include "network/kernels/kernel_table.hpp"
#include "network/kernels/simd.hpp"

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

// x / (1 + e^-x)
COGEN_INLINE simd::f silu(simd::f x) {
  return simd::div(x, simd::add(simd::set(1.0F), exponential(simd::sub(simd::zero(), x))));
}

COGEN_INLINE simd::f sigmoid(simd::f x) {
  return simd::div(simd::set(1.0F), simd::add(simd::set(1.0F), exponential(simd::sub(simd::zero(), x))));
}

// The normal distribution's share below -a, for a >= 0: e^(-a^2 / 2) times a polynomial in 1 / (1 + 0.34 a) that was
// fitted for the smallest relative error. To about 4e-7 of itself up to a = 4; 0 above 13.2.
COGEN_INLINE simd::f normal_tail(simd::f a) {
  const simd::f t = simd::div(simd::set(1.0F), simd::fma(simd::set(0.34F), a, simd::set(1.0F)));
  simd::f p = simd::set(-2.63704285e-2F);
  p = simd::fma(p, t, simd::set(0.140672863F));
  p = simd::fma(p, t, simd::set(-0.2754637F));
  p = simd::fma(p, t, simd::set(0.204734087F));
  p = simd::fma(p, t, simd::set(-4.63959314e-2F));
  p = simd::fma(p, t, simd::set(0.116035283F));
  p = simd::fma(p, t, simd::set(0.11503502F));
  p = simd::fma(p, t, simd::set(0.136133492F));
  p = simd::fma(p, t, simd::set(0.135619342F));
  return simd::mul(exponential(simd::mul(simd::set(-0.5F), simd::mul(a, a))), simd::mul(p, t));
}

COGEN_INLINE simd::f gelu(simd::f x) {
  const simd::f tail = normal_tail(simd::max(x, simd::sub(simd::zero(), x)));
  return simd::mul(x, simd::where_less(x, simd::zero(), tail, simd::sub(simd::set(1.0F), tail)));
}

// 1 + tanh(u) is 2 / (1 + e^-2u); the factors are 2 sqrt(2 / π) and 0.044715 times that.
COGEN_INLINE simd::f gelu_tanh(simd::f x) {
  const simd::f twice = simd::mul(x, simd::fma(simd::set(7.13548163e-2F), simd::mul(x, x), simd::set(1.59576912F)));
  return simd::div(x, simd::add(simd::set(1.0F), exponential(simd::sub(simd::zero(), twice))));
}

COGEN_INLINE simd::f relu(simd::f x) { return simd::max(simd::zero(), x); }

COGEN_INLINE simd::f relu_squared(simd::f x) { return simd::mul(relu(x), relu(x)); }

COGEN_INLINE simd::f xielu(simd::f x, const float* parameters) {
  const simd::f linear = simd::mul(simd::set(parameters[2]), x);
  const simd::f above = simd::mul(simd::mul(simd::set(parameters[0]), x), x);
  const simd::f grown = simd::sub(exponential(simd::min(x, simd::set(parameters[3]))), simd::set(1.0F));
  const simd::f below = simd::mul(simd::set(parameters[1]), simd::sub(grown, x));
  return simd::add(simd::where_less(simd::zero(), x, above, below), linear);
}

// cap * tanh(x / cap)
COGEN_INLINE simd::f softcapped(simd::f x, float cap) {
  const simd::f power = exponential(simd::mul(x, simd::set(2 / cap)));
  const simd::f below = simd::div(simd::set(2 * cap), simd::add(power, simd::set(1.0F)));
  return simd::sub(simd::set(cap), below);
}

// Its factor is y.
COGEN_INLINE simd::f swiglu_oai(simd::f x, simd::f y, const float* parameters) {
  const simd::f limit = simd::set(parameters[1]);
  const simd::f gate = simd::min(limit, x);
  const simd::f up = simd::min(limit, simd::max(simd::sub(simd::zero(), limit), y));
  const simd::f power = exponential(simd::sub(simd::zero(), simd::mul(simd::set(parameters[0]), gate)));
  const simd::f unit = simd::set(1.0F);
  return simd::mul(simd::add(up, unit), simd::div(gate, simd::add(unit, power)));
}

struct row_span {
  std::int64_t offset;
  int live;  // lanes of the row from `offset` on, at most simd::width
};

template <class Body>
COGEN_INLINE void over_row(std::int64_t width, Body body) {
  std::int64_t offset = 0;
  for (; offset + simd::width <= width; offset += simd::width) body(row_span{offset, simd::width});
  if (offset < width) body(row_span{offset, static_cast<int>(width - offset)});
}

COGEN_INLINE simd::f load(const float* source, row_span span) {
  return span.live == simd::width ? simd::load(source + span.offset)
                                  : simd::load_first(source + span.offset, span.live);
}

COGEN_INLINE void store(float* target, simd::f v, row_span span) {
  if (span.live == simd::width)
    simd::store(target + span.offset, v);
  else
    simd::store_first(target + span.offset, v, span.live);
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
        const simd::f y = simd::mul(simd::mul(load(job.x, span), scale), weight);
        store(job.out, job.add_to_out ? simd::add(load(job.out, span), y) : y, span);
      });
}

void layer_norm_row(const layer_norm_job& job) {
  simd::f sums = simd::zero();
  over_row(
      job.width, [&](row_span span) __attribute__((always_inline)) { sums = simd::add(sums, load(job.x, span)); });
  const simd::f mean = simd::set(simd::sum(sums) / static_cast<float>(job.width));
  simd::f squares = simd::zero();
  over_row(
      job.width, [&](row_span span) __attribute__((always_inline)) {
        const simd::f away = simd::within(simd::sub(load(job.x, span), mean), 0, span.live, simd::zero());
        squares = simd::fma(away, away, squares);
      });
  const float variance = simd::sum(squares) / static_cast<float>(job.width);
  const simd::f scale = simd::set(1.0F / __builtin_sqrtf(variance + job.epsilon));
  over_row(
      job.width, [&](row_span span) __attribute__((always_inline)) {
        const simd::f normed = simd::mul(simd::sub(load(job.x, span), mean), scale);
        store(job.out, simd::fma(normed, load(job.weight, span), load(job.bias, span)), span);
      });
}

template <class Function>
COGEN_INLINE void activate_with(Function function, const activation_job& job) {
  over_row(
      job.width, [&](row_span span) __attribute__((always_inline)) {
        const simd::f y = function(load(job.x, span));
        store(job.out, job.factor ? simd::mul(y, load(job.factor, span)) : y, span);
      });
}

void activate_row(const activation_job& job) {
  switch (job.kind) {
    case activation::silu:
      return activate_with(
          [](simd::f x) __attribute__((always_inline)) { return silu(x); }, job);
    case activation::gelu:
      return activate_with(
          [](simd::f x) __attribute__((always_inline)) { return gelu(x); }, job);
    case activation::gelu_tanh:
      return activate_with(
          [](simd::f x) __attribute__((always_inline)) { return gelu_tanh(x); }, job);
    case activation::relu:
      return activate_with(
          [](simd::f x) __attribute__((always_inline)) { return relu(x); }, job);
    case activation::relu_squared:
      return activate_with(
          [](simd::f x) __attribute__((always_inline)) { return relu_squared(x); }, job);
    case activation::sigmoid:
      return activate_with(
          [](simd::f x) __attribute__((always_inline)) { return sigmoid(x); }, job);
    case activation::xielu:
      return activate_with(
          [&](simd::f x) __attribute__((always_inline)) { return xielu(x, job.parameters); }, job);
    case activation::softcap:
      return activate_with(
          [&](simd::f x) __attribute__((always_inline)) { return softcapped(x, job.parameters[0]); }, job);
    case activation::swiglu_oai:
      return over_row(
          job.width, [&](row_span span) __attribute__((always_inline)) {
            store(job.out, swiglu_oai(load(job.x, span), load(job.factor, span), job.parameters), span);
          });
  }
}

}  // namespace
}  // namespace cogen::kernels
