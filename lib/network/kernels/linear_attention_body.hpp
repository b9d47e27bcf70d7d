#pragma once

#include "network/kernels/elementwise_body.hpp"
#include "network/kernels/kernel_table.hpp"
#include "network/kernels/simd.hpp"
#include "network/kernels/strided_rows.hpp"

#include <cstdint>

// Attention through a state, of one sequence's new tokens. Per element of the state and token there are 3 multiply-adds
// or multiplications, with the delta rule 4, so the limit is arithmetic: 1.5 or 2 cycles for a vector. Between tokens a
// block of columns therefore stays in the first-level cache, packed, since rows of all columns would share a few of the
// cache's sets. Each token reads and writes it once: what the next token's key finds in the state is summed as the
// state is written. A form that takes tokens in together, by products of matrices, needs at least 2 or 3 operations for
// the same, and its bits depend on where a prompt is cut.
namespace cogen::kernels {
namespace {

// A block of columns; rows are keys.
using state_columns = strided_rows<float>;

constexpr std::int64_t packed_state_floats = 8192;

// Vectors * simd::width columns, or with one vector the live lanes of a span, which begins at column 0 of the job.
// Lanes are independent of each other; sums over keys are in ascending order.
template <int Vectors, bool Delta>
class attending_columns {
 public:
  COGEN_INLINE attending_columns(const linear_attention_job& job, int live) : job_(job), live_(live) {}

  COGEN_INLINE void attend() {
    alignas(64) float packed[packed_state_floats];
    const state_columns initial{const_cast<float*>(job_.initial_state), job_.all_columns},
        result{job_.final_state, job_.all_columns};
    const bool fits = job_.keys * Vectors * simd::width <= packed_state_floats;
    const state_columns between = fits ? state_columns{packed, Vectors * simd::width} : result;
    const std::int64_t last = job_.tokens - 1;
    if constexpr (Delta) find_first(initial);
    for (std::int64_t token = 0; token < last; ++token) take_in<Delta>(token, token == 0 ? initial : between, between);
    take_in<false>(last, last == 0 ? initial : between, result);
  }

 private:
  COGEN_INLINE row_span part(int vector) const { return {std::int64_t{vector} * simd::width, live_}; }

  COGEN_INLINE void find_first(state_columns state) {
    for (int i = 0; i < Vectors; ++i) found_[i] = simd::zero();
    for (std::int64_t key = 0; key < job_.keys; ++key) {
      const simd::f k = simd::set(job_.k.data[key]);
      for (int i = 0; i < Vectors; ++i) found_[i] = simd::fma(load(state[key], part(i)), k, found_[i]);
    }
  }

  // With FindsNext, found_ becomes what the next token's key finds in the state.
  template <bool FindsNext>
  COGEN_INLINE void take_in(std::int64_t token, state_columns old_state, state_columns new_state) {
    const float* k = job_.k[token];
    const float* q = job_.q[token];
    const simd::f decay = simd::set(*job_.decay[token]);
    const simd::f rate = simd::set(*job_.rate[token]);
    simd::f out[Vectors], input[Vectors], found[Vectors];
    for (int i = 0; i < Vectors; ++i) {
      const simd::f value = load(job_.v[token], part(i));
      input[i] = simd::mul(rate, Delta ? simd::sub(value, simd::mul(decay, found_[i])) : value);
      out[i] = simd::mul(simd::set(job_.skip), value);
      found[i] = simd::zero();
    }
    for (std::int64_t key = 0; key < job_.keys; ++key) {
      const simd::f k_here = simd::set(k[key]), q_here = simd::set(q[key]);
      for (int i = 0; i < Vectors; ++i) {
        const simd::f kept = simd::mul(load(old_state[key], part(i)), decay);
        const simd::f state = simd::fma(k_here, input[i], kept);
        store(new_state[key], state, part(i));
        out[i] = simd::fma(state, q_here, out[i]);
        if constexpr (FindsNext) found[i] = simd::fma(state, simd::set(k[job_.k.stride + key]), found[i]);
      }
    }
    for (int i = 0; i < Vectors; ++i) {
      store(job_.out[token], out[i], part(i));
      found_[i] = found[i];
    }
  }

  const linear_attention_job& job_;
  int live_;
  simd::f found_[Vectors];  // what the next token's key finds in the state, before it decays
};

COGEN_INLINE linear_attention_job columns_from(const linear_attention_job& job, std::int64_t offset) {
  linear_attention_job part = job;
  part.v.data += offset;
  part.initial_state += offset;
  part.final_state += offset;
  part.out.data += offset;
  return part;
}

template <bool Delta>
COGEN_INLINE void attend_by_columns(const linear_attention_job& job) {
  constexpr int wide = simd::width == 16 ? 4 : 2;
  std::int64_t offset = 0;
  for (; offset + wide * simd::width <= job.columns; offset += wide * simd::width)
    attending_columns<wide, Delta>(columns_from(job, offset), simd::width).attend();
  for (; offset < job.columns; offset += simd::width) {
    const std::int64_t left = job.columns - offset;
    const int live = left < simd::width ? static_cast<int>(left) : simd::width;
    attending_columns<1, Delta>(columns_from(job, offset), live).attend();
  }
}

void attend_linearly(const linear_attention_job& job) {
  if (job.delta)
    attend_by_columns<true>(job);
  else
    attend_by_columns<false>(job);
}

}  // namespace
}  // namespace cogen::kernels
