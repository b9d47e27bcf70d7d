#pragma once

#include "network/kernels/elementwise_body.hpp"
#include "network/kernels/kernel_table.hpp"
#include "network/kernels/simd.hpp"

#include <cstdint>

// Kernels that carry a state from token to token; lanes are channels, which are independent of each other.
namespace cogen::kernels {
namespace {

// log(1 + e^x) to about 3e-7, relative: e^-|x| = u cannot overflow, and log(1 + u) = 2 artanh(s) with
// s = u / (2 + u) <= 1/3, where artanh(s) / s is a polynomial of degree 4 in s^2, exact to 4e-9.
COGEN_INLINE simd::f softplus(simd::f x) {
  const simd::f u = exponential(simd::min(x, simd::sub(simd::zero(), x)));
  const simd::f s = simd::div(u, simd::add(u, simd::set(2.0F)));
  const simd::f square = simd::mul(s, s);
  simd::f p = simd::set(0.140788892F);
  p = simd::fma(p, square, simd::set(0.139825789F));
  p = simd::fma(p, square, simd::set(0.200122976F));
  p = simd::fma(p, square, simd::set(0.333331608F));
  p = simd::fma(p, square, simd::set(1.0F));
  return simd::fma(simd::add(s, s), p, simd::max(simd::zero(), x));
}

// The input at `index` of a sequence's new tokens; one before them comes from the state.
COGEN_INLINE const float* convolution_input(const causal_convolution_job& job, std::int64_t index) {
  return index < 0 ? job.initial_state + (job.taps - 1 + index) * job.all_channels : job.x[index];
}

void convolve_token(const causal_convolution_job& job, std::int64_t token) {
  const std::int64_t oldest = token - (job.taps - 1);
  over_row(
      job.channels, [&](row_span span) __attribute__((always_inline)) {
        simd::f sum = job.bias ? load(job.bias, span) : simd::zero();
        for (int tap = 0; tap < job.taps; ++tap) {
          const simd::f weight = load(job.weight + tap * job.all_channels, span);
          sum = simd::fma(load(convolution_input(job, oldest + tap), span), weight, sum);
        }
        store(job.out[token], job.silu ? silu(sum) : sum, span);
      });
}

void causal_convolution_channels(const causal_convolution_job& job) {
  for (std::int64_t token = 0; token < job.tokens; ++token) convolve_token(job, token);
  const std::int64_t first_kept = job.tokens - (job.taps - 1);
  for (int tap = 0; tap < job.taps - 1; ++tap) {
    const float* source = convolution_input(job, first_kept + tap);
    float* target = job.final_state + tap * job.all_channels;
    over_row(
        job.channels, [&](row_span span) __attribute__((always_inline)) { store(target, load(source, span), span); });
  }
}

void scan_token(const selective_scan_job& job, std::int64_t token) {
  const float* previous = token == 0 ? job.initial_state : job.final_state;
  const float* b = job.b[token];
  const float* c = job.c[token];
  over_row(
      job.channels, [&](row_span span) __attribute__((always_inline)) {
        const simd::f x = load(job.x[token], span);
        const simd::f step = softplus(load(job.step[token], span));
        const simd::f input = simd::mul(step, x);
        simd::f out = simd::zero();
        for (std::int64_t n = 0; n < job.states; ++n) {
          const std::int64_t offset = n * job.all_channels;
          const simd::f kept = exponential(simd::mul(step, load(job.decay + offset, span)));
          const simd::f h = simd::fma(load(previous + offset, span), kept, simd::mul(input, simd::set(b[n])));
          store(job.final_state + offset, h, span);
          out = simd::fma(h, simd::set(c[n]), out);
        }
        out = simd::fma(x, load(job.skip, span), out);
        store(job.out[token], simd::mul(out, silu(load(job.gate[token], span))), span);
      });
}

void selective_scan_channels(const selective_scan_job& job) {
  for (std::int64_t token = 0; token < job.tokens; ++token) scan_token(job, token);
}

// Sums of weighted values and of weights, relative to e^exponent.
struct relative_sums {
  simd::f values, weights, exponent;
};

// With a value of the weight e^power.
COGEN_INLINE relative_sums added(relative_sums sums, simd::f power, simd::f value) {
  const simd::f exponent = simd::max(sums.exponent, power);
  const simd::f kept = exponential(simd::sub(sums.exponent, exponent));
  const simd::f weight = exponential(simd::sub(power, exponent));
  return {simd::fma(kept, sums.values, simd::mul(weight, value)), simd::fma(kept, sums.weights, weight), exponent};
}

void time_mix_token(const time_mix_job& job, std::int64_t token) {
  const float* previous = token == 0 ? job.initial_state : job.final_state;
  over_row(
      job.channels, [&](row_span span) __attribute__((always_inline)) {
        const simd::f k = load(job.k[token], span);
        const simd::f v = load(job.v[token], span);
        const simd::f gate = sigmoid(load(job.gate[token], span));
        relative_sums sums{load(previous, span), load(previous + job.all_channels, span),
                           load(previous + 2 * job.all_channels, span)};
        sums.exponent = simd::where_less(sums.weights, simd::set(0.5F), simd::set(-1e38F), sums.exponent);
        const relative_sums now = added(sums, simd::add(k, load(job.first, span)), v);
        sums.exponent = simd::add(sums.exponent, load(job.decay, span));
        const relative_sums next = added(sums, k, v);
        store(job.final_state, next.values, span);
        store(job.final_state + job.all_channels, next.weights, span);
        store(job.final_state + 2 * job.all_channels, next.exponent, span);
        store(job.out[token], simd::mul(simd::div(now.values, now.weights), gate), span);
      });
}

void time_mix_channels(const time_mix_job& job) {
  for (std::int64_t token = 0; token < job.tokens; ++token) time_mix_token(job, token);
}

void head_decay_token(const head_decay_job& job) {
  over_row(
      job.heads, [&](row_span span) __attribute__((always_inline)) {
        const simd::f step = softplus(simd::add(load(job.x, span), load(job.bias, span)));
        if (job.step) store(job.step, step, span);
        store(job.decay, exponential(simd::mul(step, load(job.rate, span))), span);
      });
}

}  // namespace
}  // namespace cogen::kernels
